// CodeMemory by itself, with functions of two instructions instead of kernels: arenas shared by
// many, reuse, poison, what is given back, refusals, threads, and both sides of a fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "code_memory.h"
#include "support/child.h"

namespace sparsejit::test {
namespace {

using RangePtr = std::unique_ptr<const CodeRange>;

constexpr int64_t kPage = 4096;
const char* const kArenaName = "sparsejit-code";

// mov eax, value; ret; then nops up to `size` bytes.
std::vector<uint8_t> function_returning(int32_t value, int64_t size = 6) {
  std::vector<uint8_t> code(static_cast<size_t>(size), 0x90);
  code[0] = 0xB8;
  std::memcpy(&code[1], &value, sizeof(value));
  code[5] = 0xC3;
  return code;
}

int32_t call(const RangePtr& range) {
  return reinterpret_cast<int32_t (*)()>(const_cast<uint8_t*>(range->begin()))();
}

RangePtr publish(CodeMemory& memory, int32_t value, int64_t size = 6) {
  const std::vector<uint8_t> bytes = function_returning(value, size);
  // In two runs, as a kernel that two threads have emitted.
  const std::array<std::span<const uint8_t>, 2> codes = {std::span(bytes).first(3),
                                                         std::span(bytes).subspan(3)};
  PublishResult result = memory.publish(codes);
  EXPECT_NE(result.range, nullptr) << result.reason;
  return std::move(result.range);
}

TEST(CodeArena, ManyKernelsShareOneMapping) {
  const auto memory = CodeMemory::create();
  const int64_t before = count_mappings(kArenaName);
  std::vector<RangePtr> ranges;
  for (int i = 0; i < 500; ++i) ranges.push_back(publish(*memory, i));
  for (int i = 0; i < 500; ++i) EXPECT_EQ(call(ranges[static_cast<size_t>(i)]), i);
  EXPECT_EQ(count_mappings(kArenaName), before + 1);
  const CodeMemoryStats stats = memory->stats();
  EXPECT_EQ(stats.arenas, 1);
  EXPECT_EQ(stats.held_bytes, 500 * kPage);
  EXPECT_EQ(stats.free_bytes, stats.mapped_bytes - stats.held_bytes);
  EXPECT_EQ(stats.largest_free_bytes, stats.free_bytes);
}

TEST(CodeArena, FreedSpaceIsReused) {
  const auto memory = CodeMemory::create();
  const RangePtr first = publish(*memory, 1);
  RangePtr second = publish(*memory, 2, 3 * kPage);
  const RangePtr third = publish(*memory, 3);
  const uint8_t* const address = second->begin();
  second = nullptr;
  EXPECT_EQ(memory->held_bytes(), 2 * kPage);
  const RangePtr fourth = publish(*memory, 4, 2 * kPage);
  EXPECT_EQ(fourth->begin(), address);
  EXPECT_EQ(call(fourth), 4);
  EXPECT_EQ(call(first) + call(third), 4);
}

TEST(CodeArena, FreedCodeIsPoisonedOrItsMemoryGivenBack) {
  for (const auto& [freed, byte] : {std::pair{FreedCode::poisoned, uint8_t{0xCC}},
                                    std::pair{FreedCode::given_back, uint8_t{0}}}) {
    const auto memory = CodeMemory::create({.freed = freed});
    const RangePtr kept = publish(*memory, 1);
    RangePtr gone = publish(*memory, 2, 2 * kPage);
    const uint8_t* const address = gone->begin();
    gone = nullptr;
    for (int64_t i = 0; i < 2 * kPage; ++i) ASSERT_EQ(address[i], byte) << i;
    EXPECT_EQ(call(kept), 1);
  }
}

TEST(CodeArena, EmptyArenasAreGivenBackButOne) {
  const auto memory = CodeMemory::create();
  std::vector<RangePtr> ranges;
  for (int i = 0; i < 40; ++i) ranges.push_back(publish(*memory, i, int64_t{1} << 20));
  EXPECT_EQ(memory->stats().arenas, 5);
  ranges.clear();
  EXPECT_EQ(memory->stats().arenas, 1);
  EXPECT_EQ(memory->held_bytes(), 0);
}

TEST(CodeArena, LargeKernelsAreMappedByThemselvesAndUnmapped) {
  const auto memory = CodeMemory::create();
  RangePtr large = publish(*memory, 7, 3 * kHugePage + 1);
  EXPECT_EQ(call(large), 7);
  EXPECT_EQ(memory->held_bytes(), 4 * kHugePage);
  EXPECT_EQ(memory->stats().mapped_bytes, 4 * kHugePage);
  EXPECT_EQ(memory->stats().arenas, 0);
  large = nullptr;
  EXPECT_EQ(memory->stats().mapped_bytes, 0);
}

TEST(CodeArena, SmallKernelsMayBeAskedToBePrivate) {
  const auto memory = CodeMemory::create({.prefer_private = true});
  const RangePtr range = publish(*memory, 9);
  EXPECT_EQ(call(range), 9);
  EXPECT_EQ(memory->stats().arenas, 0);
}

TEST(CodeArena, RangesOutliveTheirCodeMemory) {
  auto memory = CodeMemory::create();
  const RangePtr range = publish(*memory, 5);
  memory.reset();
  EXPECT_EQ(call(range), 5);
}

// A function runs all the time while others come and go beside it, and nothing is ever rwx.
TEST(CodeArena, RunningCodeIsNotDisturbedByWriting) {
  const auto memory = CodeMemory::create();
  const RangePtr running = publish(*memory, 42);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  std::thread caller([&] {
    while (!stop) wrong += call(running) != 42;
  });
  std::thread watcher([&] {
    while (!stop) wrong += any_writable_executable_mapping();
  });
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(call(publish(*memory, i)), i);
  stop = true;
  caller.join();
  watcher.join();
  EXPECT_EQ(wrong, 0);
}

void publish_and_free_at_random(CodeMemory& memory, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<int32_t, RangePtr>> ranges;
  for (int step = 0; step < 500; ++step) {
    if (random() % 2 == 0 && !ranges.empty()) {
      std::swap(ranges[random() % ranges.size()], ranges.back());
      ASSERT_EQ(call(ranges.back().second), ranges.back().first);
      ranges.pop_back();
    } else {
      const auto value = static_cast<int32_t>(random());
      ranges.emplace_back(value,
                          publish(memory, value, 6 + static_cast<int64_t>(random() % 50000)));
    }
  }
  for (const auto& [value, range] : ranges) ASSERT_EQ(call(range), value);
}

TEST(CodeArena, ThreadsPublishAndFreeAtOnce) {
  const auto memory = CodeMemory::create();
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] { publish_and_free_at_random(*memory, seed); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory->held_bytes(), 0);
  EXPECT_EQ(memory->stats().arenas, 1);
}

TEST(CodeArena, PrivateMappingsServeWhereMemoryFilesAreRefused) {
  if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  expect_in_child([] {
    if (!deny_memory_files()) return true;
    const auto memory = CodeMemory::create();
    RangePtr range = publish(*memory, 3);
    EXPECT_EQ(call(range), 3);
    EXPECT_EQ(memory->stats().arenas, 0);
    EXPECT_EQ(memory->stats().mapped_bytes, kPage);
    return true;
  });
}

TEST(CodeArena, ArenasServeLargeKernelsWhereMemoryMayNotBecomeExecutable) {
  if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  expect_in_child([] {
    if (!deny_execute_gain()) return true;
    const auto memory = CodeMemory::create();
    RangePtr range = publish(*memory, 3, 5 * kHugePage);
    EXPECT_EQ(call(range), 3);
    EXPECT_EQ(memory->stats().mapped_bytes, 5 * kHugePage);
    range = nullptr;
    EXPECT_EQ(memory->stats().arenas, 0) << "only arenas of the usual size are kept";
    return true;
  });
}

class CodeArenaFork : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
    for (int i = 0; i < 10; ++i) ranges_.push_back(publish(*memory_, i));
  }
  void expect_all(int first) const {
    for (size_t i = 0; i < ranges_.size(); ++i) {
      EXPECT_EQ(call(ranges_[i]), first + static_cast<int>(i));
    }
  }
  // Frees and writes as much as it takes to overwrite everything that could be.
  void replace_all(int first) {
    ranges_.clear();
    for (int i = 0; i < 10; ++i) ranges_.push_back(publish(*memory_, first + i));
    expect_all(first);
  }

  std::shared_ptr<CodeMemory> memory_ = CodeMemory::create({.freed = FreedCode::poisoned});
  std::vector<RangePtr> ranges_;
};

TEST_F(CodeArenaFork, ChildDoesNotTouchTheParentsCode) {
  const RangePtr keeps_the_arena = publish(*memory_, 99);
  expect_in_child([&] {
    expect_all(0);
    EXPECT_EQ(memory_->stats().frozen_arenas, 1);
    replace_all(1000);
    EXPECT_EQ(memory_->stats().arenas, 2);
    return true;
  });
  expect_all(0);
}

TEST_F(CodeArenaFork, ParentDoesNotTouchTheChildsCode) {
  const RangePtr keeps_the_arena = publish(*memory_, 99);
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte = 0;
    const bool told = read(pipe_ends[0], &byte, 1) == 1;
    expect_all(0);
    _exit(told && !HasFailure() ? 0 : 1);
  }
  replace_all(1000);
  EXPECT_EQ(memory_->stats().frozen_arenas, 1);
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child found its code changed";
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(CodeArenaFork, FrozenArenasAreUnmappedWhenEmpty) {
  expect_in_child([] { return true; });
  const RangePtr fresh = publish(*memory_, 5);
  EXPECT_EQ(memory_->stats().arenas, 2);
  ranges_.resize(1);
  EXPECT_EQ(memory_->held_bytes(), 11 * kPage) << "freed, but a child may be running it";
  ranges_.clear();
  EXPECT_EQ(memory_->held_bytes(), kPage);
  EXPECT_EQ(memory_->stats().arenas, 1);
  EXPECT_EQ(memory_->stats().frozen_arenas, 0);
}

// Others publish and free while the process forks: a child never finds the lock taken.
TEST_F(CodeArenaFork, ChildPublishesWhateverOtherThreadsWereDoing) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) publish(*memory_, 1);
  });
  for (int i = 0; i < 50; ++i) {
    expect_in_child([&] { return call(publish(*memory_, 8)) == 8; });
  }
  stop = true;
  other.join();
  expect_all(0);
}

}  // namespace
}  // namespace sparsejit::test

// The caller's executor: tasks are handed over, results stay the same bits, no thread is created.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "support/conv_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "Threads:") continue;
    int threads = 0;
    status >> threads;
    return threads;
  }
  return -1;
}

const ConvCase kCase{.mask = Mask::random({64, 48, 3, 3}, 0.8, 1),
                     .conv = {.padding = 1},
                     .images = 6,
                     .size = {14, 14}};

TEST(Executor, RunsAllTasksInAnyOrder) {
  std::atomic<int> tasks{0};
  std::atomic<int> calls{0};
  RuntimeOptions options = with_threads(3);
  options.executor = [&](int count, const std::function<void(int)>& task) {
    ++calls;
    EXPECT_EQ(count, 3);
    for (int i = count; i-- > 0;) {
      task(i);
      ++tasks;
    }
  };
  Runtime runtime(options);
  Runtime one(with_threads(1));
  for (const Engine engine : available_engines()) {
    const int before = threads_of_this_process();
    const LayerRun run = run_conv(forced_conv(kCase, engine, runtime), kCase);
    EXPECT_EQ(threads_of_this_process(), before);
    expect_same_bits(run.outputs, run_conv(forced_conv(kCase, engine, one), kCase).outputs);
  }
  EXPECT_GT(calls, 0);
  EXPECT_EQ(tasks, 3 * calls);
}

TEST(Executor, MayUseThreadsOfItsOwn) {
  RuntimeOptions options = with_threads(4);
  options.executor = [](int count, const std::function<void(int)>& task) {
    std::vector<std::thread> threads;
    for (int i = 1; i < count; ++i) threads.emplace_back(task, i);
    task(0);
    for (std::thread& thread : threads) thread.join();
  };
  Runtime runtime(options);
  for (const Engine engine : available_engines()) {
    expect_matches_reference(kCase, run_conv(forced_conv(kCase, engine, runtime), kCase));
  }
}

TEST(Executor, IsNotAskedForOneThread) {
  RuntimeOptions options = with_threads(1);
  options.executor = [](int, const std::function<void(int)>&) { FAIL() << "asked"; };
  Runtime runtime(options);
  run_conv(forced_conv(kCase, available_engines().front(), runtime), kCase);
}

}  // namespace
}  // namespace sparsejit::test

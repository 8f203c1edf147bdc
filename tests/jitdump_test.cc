// The jitdump file read back, field by field as in perf's specification.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "support/child.h"
#include "support/profiled_child.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class Jitdump : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  }
};

// Little-endian fields of a file, in order.
class Fields {
 public:
  explicit Fields(const std::string& bytes) : bytes_(bytes) {}
  template <typename T>
  T next() {
    T value{};
    EXPECT_LE(at_ + sizeof(T), bytes_.size());
    if (at_ + sizeof(T) <= bytes_.size()) std::memcpy(&value, &bytes_[at_], sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text(size_t size) {
    at_ += size;
    EXPECT_LE(at_, bytes_.size());
    return bytes_.substr(std::min(at_ - size, bytes_.size()), size);
  }
  size_t at() const { return at_; }
  bool done() const { return at_ >= bytes_.size(); }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

void expect_jitdump_header(Fields& fields) {
  EXPECT_EQ(fields.next<uint32_t>(), 0x4A695444U);
  EXPECT_EQ(fields.next<uint32_t>(), 1U) << "version";
  EXPECT_EQ(fields.next<uint32_t>(), 40U) << "header size";
  EXPECT_EQ(fields.next<uint32_t>(), uint32_t{EM_X86_64});
  EXPECT_EQ(fields.next<uint32_t>(), 0U) << "padding";
  EXPECT_EQ(fields.next<uint32_t>(), static_cast<uint32_t>(getpid()));
  EXPECT_GT(fields.next<uint64_t>(), 0U) << "timestamp";
  EXPECT_EQ(fields.next<uint64_t>(), 0U) << "flags";
}

// Each record's code is compared with what lies at its address.
std::vector<Symbol> read_jitdump() {
  const std::string bytes = read_all(jitdump_path());
  Fields fields(bytes);
  expect_jitdump_header(fields);
  std::vector<Symbol> symbols;
  uint64_t last_time = 0;
  while (!fields.done() && !::testing::Test::HasFailure()) {
    const size_t start = fields.at();
    EXPECT_EQ(fields.next<uint32_t>(), 0U) << "JIT_CODE_LOAD";
    const auto total = fields.next<uint32_t>();
    const auto time = fields.next<uint64_t>();
    EXPECT_GE(time, last_time);
    last_time = time;
    EXPECT_EQ(fields.next<uint32_t>(), static_cast<uint32_t>(getpid()));
    EXPECT_EQ(fields.next<uint32_t>(), static_cast<uint32_t>(gettid()));
    const auto vma = fields.next<uint64_t>();
    EXPECT_EQ(fields.next<uint64_t>(), vma);
    const auto size = fields.next<uint64_t>();
    EXPECT_EQ(fields.next<uint64_t>(), symbols.size()) << "index";
    const std::string name = &bytes[fields.at()];
    fields.text(name.size() + 1);
    const std::string code = fields.text(size);
    EXPECT_EQ(std::memcmp(code.data(), reinterpret_cast<const void*>(vma), size), 0) << name;
    EXPECT_EQ(fields.at() - start, total);
    symbols.push_back({vma, size, name});
  }
  return symbols;
}

TEST_F(Jitdump, HoldsCodeAndNames) {
  expect_in_profiled_child("jitdump", [] {
    Runtime runtime(with_threads(1));
    const Layer layer = compiled_layer(small_mask(), runtime);
    const std::vector<Symbol> symbols = read_jitdump();
    expect_names(symbols, small_mask());
    expect_no_overlap(symbols);
    EXPECT_EQ(count_mappings(jitdump_path()), 1) << "the marker perf looks for";
    EXPECT_FALSE(any_writable_executable_mapping());
    expect_in_child([&] {
      const Mask other = Mask::random({20, 30}, 0.5, 2);
      const Layer own = compiled_layer(other, runtime);
      expect_names(read_jitdump(), small_mask());
      expect_names(read_jitdump(), other);
      EXPECT_EQ(count_mappings("/jit-"), 1) << "its own marker only";
      return true;
    });
  });
}

}  // namespace
}  // namespace sparsejit::test

// CodeFetch: reads every line of a chunk that has not run for long, nothing beyond it, and nothing
// of one that has just run.
#include "code_fetch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <limits>

namespace sparsejit::test {
namespace {

// Two pages, the second of which cannot be read.
class Pages {
 public:
  Pages() {
    void* const memory =
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<uint8_t*>(memory);
    forbid(1);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(begin_, 2 * kPage); }

  void forbid(int page) {
    if (mprotect(begin_ + page * kPage, kPage, PROT_NONE) != 0) throw std::bad_alloc();
  }
  std::span<const uint8_t> last(size_t bytes) const { return {begin_ + kPage - bytes, bytes}; }

 private:
  static inline const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  uint8_t* begin_;
};

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr int64_t kNoTime = 0;

TEST(CodeFetch, ReadsNothingBeyondTheCode) {
  const Pages pages;
  for (const size_t bytes : {0, 1, 63, 64, 65, 128, 4000}) {
    CodeFetch(1, kNoTime).before_run(0, pages.last(bytes));
  }
}

TEST(CodeFetch, ReadsCodeThatHasNeverRunAndNoneThatHasJustRun) {
  Pages pages;
  const CodeFetch fetch(2, kForever);
  fetch.before_run(0, pages.last(100));
  pages.forbid(0);
  fetch.before_run(0, pages.last(100));
  EXPECT_DEATH(fetch.before_run(1, pages.last(100)), "") << "the other chunk has not run";
}

TEST(CodeFetch, ReadsCodeThatHasNotRunForLong) {
  Pages pages;
  const CodeFetch fetch(1, kNoTime);
  fetch.before_run(0, pages.last(100));
  pages.forbid(0);
  EXPECT_DEATH(fetch.before_run(0, pages.last(100)), "");
}

}  // namespace
}  // namespace sparsejit::test

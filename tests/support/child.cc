// See child.h.
#include "support/child.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>

namespace sparsejit::test {
namespace {

constexpr int kSetMdwe = 65;             // PR_SET_MDWE, since Linux 6.3
constexpr unsigned kRefuseExecGain = 1;  // PR_MDWE_REFUSE_EXEC_GAIN

bool install_filter(std::span<sock_filter> filter) {
  sock_fprog program = {.len = static_cast<uint16_t>(filter.size()), .filter = filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace

bool children_supported() {
#if defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

void expect_in_child(const std::function<bool()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0) << "fork failed";
  if (child == 0) {
    const bool good = body() && !::testing::Test::HasFailure();
    std::fflush(nullptr);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child was ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the child reports a failure";
}

bool deny_execute_gain() { return prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) == 0; }

// Refuses mmap and mprotect with PROT_EXEC: EACCES, as SELinux does.
bool deny_executable_memory() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto kProtection = static_cast<uint32_t>(offsetof(seccomp_data, args) + size_t{2} * 8);
  std::array<sock_filter, 8> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtection),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  return install_filter(filter);
}

bool deny_memory_files() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  return install_filter(filter);
}

bool deny_threads() {
  constexpr auto kNumber = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  std::array<sock_filter, 5> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  return install_filter(filter);
}

bool any_writable_executable_mapping() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find(' ') + 1;
    if (line.compare(at, 3, "rwx") == 0) return true;
  }
  return false;
}

int64_t count_mappings(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  int64_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(text) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace sparsejit::test

// run_in_child: a forked process for what must not happen to the test itself: losing the right to
// map executable memory, or using a runtime on the other side of a fork.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sparsejit::test {

// True where forked children can be used: the thread sanitizer does not support threads in them.
bool children_supported();

// Runs `body` in a forked child and expects it to return true. gtest failures inside the child are
// printed by it and make it return false.
void expect_in_child(const std::function<bool()>& body);

// For the calling process, from now on:
// memory that was ever writable cannot become executable (false: the kernel has no such switch);
bool deny_execute_gain();
// no memory can be mapped or turned executable at all (false: no seccomp).
bool deny_executable_memory();
// no memory file can be made (false: no seccomp);
bool deny_memory_files();
// no thread can be started (false: no seccomp).
bool deny_threads();

// True if any mapping of this process is writable and executable.
bool any_writable_executable_mapping();
// Mappings of this process whose line in /proc/self/maps contains `text`.
int64_t count_mappings(const std::string& text);

}  // namespace sparsejit::test

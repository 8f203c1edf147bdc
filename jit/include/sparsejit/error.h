// Errors: one type for wrong input, one macro for broken invariants.
//
// Wrong input (a malformed mask, a stride that cannot be, a missing file) throws `Error` before
// anything is generated or written; the message names the value seen and what was expected.
// "Cannot compile" is never an Error: it is an outcome with a reason (see EmitResult).
// A failed SPARSEJIT_CHECK is a bug of this library; it throws InternalError with both operands.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace sparsejit {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& message) : std::logic_error(message) {}
};

// throw_error("mask: row {} ...", row) keeps call sites to one line.
template <typename... Args>
[[noreturn]] void throw_error(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sparsejit

#define SPARSEJIT_CHECK(left, op, right)                                                     \
  do {                                                                                       \
    const auto& sparsejit_l = (left);                                                        \
    const auto& sparsejit_r = (right);                                                       \
    if (!(sparsejit_l op sparsejit_r)) {                                                     \
      throw ::sparsejit::InternalError(fmt::format("{}:{}: check {} {} {} failed: {} vs {}", \
                                                   __FILE__, __LINE__, #left, #op, #right,   \
                                                   sparsejit_l, sparsejit_r));               \
    }                                                                                        \
  } while (false)

// expect_error: an action must throw sparsejit::Error, in one line that names what it saw.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "sparsejit/error.h"

namespace sparsejit::test {

// Every fragment must occur in the message: the value seen, what was expected, which entry.
template <typename Action>
void expect_error(Action&& action, std::initializer_list<std::string> fragments) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& fragment : fragments) {
      EXPECT_NE(message.find(fragment), std::string::npos)
          << "\"" << message << "\" does not mention \"" << fragment << "\"";
    }
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw something else than sparsejit::Error: " << error.what();
    return;
  }
  ADD_FAILURE() << "accepted; expected an error that mentions \"" << *fragments.begin() << "\"";
}

}  // namespace sparsejit::test

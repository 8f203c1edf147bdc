// Lines of RuntimeOptions::log on their way to Python's warnings.
//
// They are written by any thread without the interpreter's lock, kept, and raised as
// RuntimeWarning by the next call that holds it.
#pragma once

#include <string>

namespace sparsejit::python {

// Thread-safe; needs no lock of the interpreter.
void keep_log_line(const std::string& line);

// With the interpreter's lock held. Throws when warnings are errors.
void warn_of_log_lines();

}  // namespace sparsejit::python

#include "log.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace sparsejit::python {
namespace {

std::mutex mutex;
std::vector<std::string> lines;
std::atomic<bool> any_lines = false;

std::vector<std::string> take_lines() {
  const std::lock_guard<std::mutex> lock(mutex);
  any_lines = false;
  return std::exchange(lines, {});
}

}  // namespace

void keep_log_line(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex);
  lines.push_back(line);
  any_lines = true;
}

void warn_of_log_lines() {
  if (!any_lines) return;
  for (const std::string& line : take_lines()) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, ("sparsejit: " + line).c_str(), 1) != 0) {
      throw nanobind::python_error();
    }
  }
}

}  // namespace sparsejit::python

// ProfileFile: a file that a profiler reads. Never follows a symbolic link: the directory may be
// /tmp. The first failure is kept as a sentence; what comes after it does nothing.
#pragma once

#include <cstddef>
#include <string>

namespace sparsejit {

class ProfileFile {
 public:
  ProfileFile() = default;
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;
  ~ProfileFile() { close(); }

  // Made if missing, closed on exec; `how`: O_TRUNC or O_APPEND. Closes what was open.
  void open(const std::string& path, int how);
  void write(const void* data, size_t size);
  // Says that `what` failed, with the system's reason.
  void fail(const char* what);
  void close();

  int descriptor() const { return descriptor_; }  // -1: not open
  const std::string& problem() const { return problem_; }

 private:
  std::string path_;
  std::string problem_;
  int descriptor_ = -1;
};

}  // namespace sparsejit

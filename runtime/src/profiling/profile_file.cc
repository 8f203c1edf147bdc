// See profile_file.h.
#include "profiling/profile_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sparsejit {

void ProfileFile::open(const std::string& path, int how) {
  close();
  path_ = path;
  problem_.clear();
  constexpr int kMode = 0644;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | how, kMode);
  if (descriptor_ < 0) fail("open");
}

void ProfileFile::write(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (descriptor_ >= 0 && size > 0) {
    const ssize_t written = ::write(descriptor_, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail("write");
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

void ProfileFile::fail(const char* what) {
  if (!problem_.empty()) return;
  problem_ = fmt::format("profiling: {}: {}: {}", path_, what, std::strerror(errno));
  close();
}

void ProfileFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace sparsejit

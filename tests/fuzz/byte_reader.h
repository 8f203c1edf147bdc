// ByteReader: the bytes of a fuzz input as numbers. Past the end everything is zero, so every input
// is a complete case and short ones stay simple.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sparsejit::test {

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (at_ == bytes_.size()) return 0;
    return bytes_[at_++];
  }
  // first, ..., last
  int64_t between(int64_t first, int64_t last) { return first + byte() % (last - first + 1); }
  bool flag() { return byte() % 2 == 1; }
  int64_t number() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return static_cast<int64_t>(value);
  }
  std::string_view rest() const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_};
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace sparsejit::test

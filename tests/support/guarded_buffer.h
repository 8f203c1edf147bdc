// GuardedBuffer: floats that lie flush against an unmapped page, so that one float too far is a
// crash. Address sanitizers do not see generated code; the memory management unit does.
//
//     Edge::end      | unmapped | canary .... floats | unmapped |
//     Edge::start    | unmapped | floats .... canary | unmapped |
//
// The far side of the page is filled with a canary, checked by `canary_intact`. A buffer of no
// floats is a pointer to an unmapped page. Not thread-safe; owns its mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sparsejit::test {

enum class Edge { end, start };

class GuardedBuffer {
 public:
  GuardedBuffer(int64_t count, Edge edge);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer();

  float* data() { return floats_; }
  const float* data() const { return floats_; }
  std::span<float> floats() { return {floats_, static_cast<size_t>(count_)}; }
  std::span<const float> floats() const { return {floats_, static_cast<size_t>(count_)}; }

  void fill(float value);
  // From now on a write is a crash: for inputs.
  void make_read_only();
  bool canary_intact() const;

 private:
  std::byte* mapping_ = nullptr;  // guard page, body_bytes_, guard page
  size_t body_bytes_ = 0;         // whole pages
  float* floats_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace sparsejit::test

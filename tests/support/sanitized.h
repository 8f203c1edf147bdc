// kSanitized: true in builds with a sanitizer, where repetition costs ten times as much and freed
// memory stays resident.
#pragma once

namespace sparsejit::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace sparsejit::test

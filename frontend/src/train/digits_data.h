// The embedded UCI digits as IDX bytes; frontend/data/README.md names source and licence.
#pragma once

#include <cstdint>
#include <span>

namespace sparsejit::frontend {

std::span<const uint8_t> digits_images();
std::span<const uint8_t> digits_labels();

}  // namespace sparsejit::frontend

// Checks of what callers pass in; each throws Error with the value seen and what was expected.
#pragma once

#include <span>
#include <string_view>

#include "sparsejit/layer.h"

namespace sparsejit {

// `name` is the argument's name in messages.
void validate_input(const ConstTensorView& view, int64_t batch, int64_t features,
                    std::string_view name);
// As an input; no two elements may share memory.
void validate_output(const TensorView& view, int64_t batch, int64_t features,
                     std::string_view name);
// An array of one entry for each `expected`; or none where it may be empty.
void validate_array(std::span<const float> array, int64_t expected, bool may_be_empty,
                    std::string_view name);
void validate_distinct(const void* output, const void* other, std::string_view output_name,
                       std::string_view other_name);
void validate_options(const LayerOptions& options);

}  // namespace sparsejit

// The header of an .npy file, format versions 1 to 3.
//
//     \x93NUMPY 1 0  118 0                                       magic, version, header length
//     {'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), }\n    padded with blanks
//
// The length has two bytes in version 1 and four in versions 2 and 3. The header is a Python
// literal, of which exactly these three keys are understood, each once, in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sparsejit {

struct NpyHeader {
  std::optional<std::string_view> type;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Takes the header off the bytes; what is left are the elements. All three fields are set.
NpyHeader take_npy_header(std::string_view& bytes, std::string_view source);

}  // namespace sparsejit

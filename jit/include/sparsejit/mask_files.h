// Masks from files of other programs: NumPy arrays and Matrix Market matrices. (The .smtx format
// of the Deep Learning Matrix Collection is read by Mask::load_smtx.)
//
//     Mask mask = load_npy_mask("pruned.npy");      // np.save("pruned.npy", weight)
//     Mask mask = load_mtx_mask("pattern.mtx");     // scipy.io.mmwrite("pattern.mtx", csr)
//
// Every malformed input is one Error that names the source and the value. Memory grows with the
// bytes that are there, never with a number they announce; a mask has at most 65536 rows, or as
// many as its source has bytes. `source` names bytes in messages. Pure, except for the files.
#pragma once

#include <string>
#include <string_view>

#include "sparsejit/mask.h"

namespace sparsejit {

// The bytes of an .npy file, format versions 1 to 3: an array of two dimensions (out, in) or four
// (out, in / groups, kernel height, kernel width), in C or Fortran order, of bool, integers of 8 to
// 64 bits, float16, float32 or float64, either byte order. Entries that compare unequal to 0 are
// stored (NaN is; -0.0 is not).
Mask parse_npy_mask(std::string_view bytes, std::string_view source = "npy bytes");
Mask load_npy_mask(const std::string& path);

// The text of an .mtx file: `matrix coordinate`, pattern, real or integer, general. Every entry
// that is listed is stored, an explicit 0 too; entries come in any order, each once, and count from
// 1. Dimensions beyond two do not exist in the format: see Mask::reshaped.
Mask parse_mtx_mask(std::string_view text, std::string_view source = "mtx text");
Mask load_mtx_mask(const std::string& path);

}  // namespace sparsejit

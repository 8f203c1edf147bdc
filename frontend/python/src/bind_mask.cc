// Mask for Python: from and to bytes of zeros and ones, or bits.
//
// Bits are row-major, eight to a byte, lowest bit first (numpy.packbits(..., bitorder="little"));
// those after the last position are zero.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "bindings.h"
#include "sparsejit/error.h"
#include "sparsejit/mask.h"

namespace nb = nanobind;

namespace sparsejit::python {
namespace {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using TorchBytes = nb::ndarray<nb::pytorch, uint8_t, nb::ndim<1>>;

constexpr size_t kBits = 8;

MaskShape shape_of(const std::vector<int64_t>& shape) {
  if (shape.size() != 2 && shape.size() != 4) {
    throw_error("mask: {} dimensions, expected 2 (out, in) or 4 (out, in / groups, kernel h, w)",
                shape.size());
  }
  for (const int64_t extent : shape) {
    if (extent < 0) throw_error("mask: negative size {} in its shape", extent);
  }
  if (shape.size() == 2) return {shape[0], shape[1]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

size_t positions_of(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) {
      throw_error("mask: a shape with more than 2^63 positions");
    }
  }
  return static_cast<size_t>(product);
}

Mask mask_from_packed(const Bytes& bits, const std::vector<int64_t>& shape) {
  const MaskShape mask_shape = shape_of(shape);
  const size_t positions = positions_of(shape);
  const size_t expected = positions / kBits + (positions % kBits == 0 ? 0 : 1);
  if (bits.size() != expected) {
    throw_error("mask: {} packed bytes, expected {} for {}", bits.size(), expected,
                to_text(mask_shape));
  }
  if (positions % kBits != 0 && bits.data()[expected - 1] >> (positions % kBits) != 0) {
    throw_error("mask: packed bits after the last of {} positions, expected zeros", positions);
  }
  std::vector<uint8_t> dense(positions);
  for (size_t i = 0; i < positions; ++i) dense[i] = bits.data()[i / kBits] >> (i % kBits) & 1U;
  return Mask::from_dense(dense, mask_shape);
}

// Hands a vector's memory to PyTorch.
TorchBytes to_torch(std::vector<uint8_t> bytes) {
  auto* owned = new std::vector<uint8_t>(std::move(bytes));
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::vector<uint8_t>*>(p); });
  return {owned->data(), {owned->size()}, owner};
}

// Calls visit(position) for every stored weight, in ascending order.
template <typename Visit>
void for_each_stored(const Mask& mask, Visit visit) {
  for (int64_t row = 0; row < mask.rows(); ++row) {
    const auto begin = static_cast<size_t>(mask.row_begin()[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(mask.row_begin()[static_cast<size_t>(row) + 1]);
    for (size_t i = begin; i < end; ++i) {
      visit(static_cast<size_t>(row * mask.cols() + mask.columns()[i]));
    }
  }
}

TorchBytes packed(const Mask& mask) {
  const auto positions = static_cast<size_t>(mask.rows() * mask.cols());
  std::vector<uint8_t> bits((positions + kBits - 1) / kBits);
  for_each_stored(mask, [&](size_t position) {
    bits[position / kBits] = static_cast<uint8_t>(bits[position / kBits] | 1U << position % kBits);
  });
  return to_torch(std::move(bits));
}

TorchBytes dense(const Mask& mask) {
  std::vector<uint8_t> entries(static_cast<size_t>(mask.rows() * mask.cols()));
  for_each_stored(mask, [&](size_t position) { entries[position] = 1; });
  return to_torch(std::move(entries));
}

std::string hash_text(const Mask& mask) {
  return fmt::format("{:016x}{:016x}", mask.hash().high, mask.hash().low);
}

}  // namespace

void bind_mask(nb::module_& module) {
  nb::class_<Mask>(module, "Mask")
      .def_static(
          "from_dense",
          [](const Bytes& dense, const std::vector<int64_t>& shape) {
            return Mask::from_dense({dense.data(), dense.size()}, shape_of(shape));
          },
          nb::arg("dense"), nb::arg("shape"))
      .def_static("from_packed", &mask_from_packed, nb::arg("bits"), nb::arg("shape"))
      .def_static(
          "random",
          [](const std::vector<int64_t>& shape, double sparsity, uint64_t seed) {
            return Mask::random(shape_of(shape), sparsity, seed);
          },
          nb::arg("shape"), nb::arg("sparsity"), nb::arg("seed"))
      .def("packed", &packed)
      .def("dense", &dense)
      .def_prop_ro("nnz", &Mask::nnz)
      .def_prop_ro("hash", &hash_text)
      .def("__eq__", [](const Mask& left, const Mask& right) { return left == right; });
}

}  // namespace sparsejit::python

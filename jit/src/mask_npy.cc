// .npy: the file of one NumPy array. The elements follow the header (npy_header.h) and must fill
// the file: a shape is believed only when the bytes for it are there. Nothing is converted to
// numbers: an element is zero when no bit is set, the sign of a float apart. Read parse_npy_mask
// first.
#include <optional>
#include <vector>

#include "mask_builder.h"
#include "mask_text.h"
#include "npy_header.h"
#include "sparsejit/mask_files.h"

namespace sparsejit {
namespace {

// How to tell an element from zero: some bit is set, the sign of a float apart.
struct ElementType {
  size_t bytes = 0;
  std::optional<size_t> sign_byte;  // of floats: where in the element

  bool is_nonzero(std::string_view element) const {
    for (size_t i = 0; i < element.size(); ++i) {
      const unsigned bits = i == sign_byte ? 0x7F : 0xFF;
      if ((static_cast<unsigned char>(element[i]) & bits) != 0) return true;
    }
    return false;
  }
};

ElementType parse_type(std::string_view text, std::string_view source) {
  const auto is_one_of = [&](size_t at, std::string_view set) {
    return text.size() == 3 && set.find(text[at]) != std::string_view::npos;
  };
  const bool known = (is_one_of(1, "b") && is_one_of(2, "1")) ||
                     (is_one_of(1, "iu") && is_one_of(2, "1248")) ||
                     (is_one_of(1, "f") && is_one_of(2, "248"));
  if (!known || !is_one_of(0, text[2] == '1' ? "<>|" : "<>")) {
    throw_error("{}: descr {}, expected a bool, integer or float type as in '<f4'", source,
                quoted(text));
  }
  ElementType type{.bytes = static_cast<size_t>(text[2] - '0'), .sign_byte = {}};
  if (text[1] == 'f') type.sign_byte = text[0] == '>' ? 0 : type.bytes - 1;
  return type;
}

MaskShape shape_of(const NpyHeader& header, std::string_view source) {
  const std::vector<int64_t>& size = *header.shape;
  if (size.size() == 2) return {size[0], size[1]};
  if (size.size() == 4) return {size[0], size[1], size[2], size[3]};
  throw_error("{}: shape ({}), expected 2 or 4 dimensions", source,
              size.size() > 8 ? fmt::format("{} dimensions", size.size())
                              : fmt::format("{}", fmt::join(size, ", ")));
}

void validate_data(std::string_view data, const MaskShape& shape, const ElementType& type,
                   std::string_view source) {
  const auto elements = static_cast<size_t>(shape.rows() * shape.cols());
  if (data.size() % type.bytes != 0 || data.size() / type.bytes != elements) {
    throw_error("{}: {} bytes of data, a {} array needs {} elements of {}", source, data.size(),
                to_text(shape), elements, type.bytes);
  }
}

// `strides`: elements from one index to the next in each of the four dimensions.
Mask store_nonzeros(std::string_view data, const MaskShape& shape, const ElementType& type,
                    const MaskShape& strides) {
  MaskBuilder builder(shape);
  for (int64_t row = 0; row < shape.rows(); ++row) {
    for (int64_t column = 0; column < shape.cols(); ++column) {
      const int64_t in = column / (shape.kernel_h * shape.kernel_w);
      const int64_t at = row * strides.out + in * strides.in +
                         column / shape.kernel_w % shape.kernel_h * strides.kernel_h +
                         column % shape.kernel_w * strides.kernel_w;
      const std::string_view element =
          data.substr(static_cast<size_t>(at) * type.bytes, type.bytes);
      if (type.is_nonzero(element)) builder.add(column);
    }
    builder.end_row();
  }
  return builder.finish();
}

}  // namespace

Mask parse_npy_mask(std::string_view bytes, std::string_view source) {
  const size_t size = bytes.size();
  const NpyHeader header = take_npy_header(bytes, source);
  return name_source(source, [&] {
    const MaskShape shape = shape_of(header, source);
    validate_shape(shape);
    validate_row_count(shape.rows(), size, source);
    const ElementType type = parse_type(*header.type, source);
    validate_data(bytes, shape, type, source);
    const int64_t kernel = shape.kernel_h * shape.kernel_w;
    const MaskShape c_order{shape.cols(), kernel, shape.kernel_w, 1};
    const MaskShape fortran_order{1, shape.out, shape.out * shape.in,
                                  shape.out * shape.in * shape.kernel_h};
    return store_nonzeros(bytes, shape, type, *header.fortran_order ? fortran_order : c_order);
  });
}

Mask load_npy_mask(const std::string& path) {
  return parse_npy_mask(read_file(path, "an .npy"), path);
}

}  // namespace sparsejit

// Bytes through the readers of masks. What is accepted must be a valid mask that survives a round
// trip; what is refused must be one Error: one line of printable text that names the source.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/byte_reader.h"
#include "fuzz/fuzz_entries.h"
#include "sparsejit/error.h"
#include "sparsejit/mask_files.h"
#include "sparsejit/sparseprop_format.h"

namespace sparsejit::test {
namespace {

constexpr std::string_view kSource = "input";

void require(bool holds, std::string_view what) {
  if (!holds) throw FuzzFailure(std::string(what));
}

void check_message(std::string_view message, std::string_view source) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  require(std::all_of(message.begin(), message.end(), printable), "message is not printable");
  require(message.starts_with(fmt::format("{}: ", source)), "message does not name the source");
  require(message.size() < 300, "message is too long");
}

void check_mask(const Mask& mask) {
  const auto row_begin = mask.row_begin();
  require(static_cast<int64_t>(row_begin.size()) == mask.rows() + 1, "row offsets are missing");
  require(row_begin.front() == 0 && row_begin.back() == mask.nnz(), "row offsets miss weights");
  for (size_t row = 0; row + 1 < row_begin.size(); ++row) {
    int64_t last = -1;
    for (int64_t i = row_begin[row]; i < row_begin[row + 1]; ++i) {
      const int64_t column = mask.columns()[static_cast<size_t>(i)];
      require(column > last && column < mask.cols(), "columns are out of order or range");
      last = column;
    }
  }
  const Mask matrix = mask.reshaped({mask.rows(), mask.cols()});
  require(Mask::from_smtx(matrix.to_smtx()) == matrix, "the mask does not survive .smtx");
}

// Lengths are those that the format asks for, or one less; entries are small, some wild.
std::vector<int64_t> read_array(ByteReader& reader, int64_t length) {
  const uint8_t kind = reader.byte();
  std::vector<int64_t> array(static_cast<size_t>(std::max<int64_t>(0, length - kind % 8 / 7)));
  for (int64_t& entry : array) entry = static_cast<int8_t>(reader.byte());
  if (kind >= 0xF0 && !array.empty()) array[kind % array.size()] = reader.number();
  return array;
}

Mask read_sparseprop(ByteReader& reader) {
  const MaskShape shape{reader.between(-1, 6), reader.between(-1, 6), reader.between(-1, 4),
                        reader.between(-1, 4)};
  const int64_t stored = reader.between(0, 40);
  SparsePropTensor tensor;
  tensor.och = read_array(reader, shape.out + 1);
  tensor.ich = read_array(reader, shape.out * (shape.in + 1));
  tensor.x = read_array(reader, stored);
  tensor.y = read_array(reader, stored);
  for (int64_t i = 0; i < stored; ++i) tensor.vals.push_back(static_cast<float>(i));
  const MaskAndValues imported = import_sparseprop(tensor, shape);
  const MaskAndValues again =
      import_sparseprop(export_sparseprop(imported.mask, imported.values), shape);
  require(again.mask == imported.mask && again.values == imported.values,
          "the tensor does not survive export");
  return imported.mask;
}

}  // namespace

void fuzz_masks(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  const uint8_t format = reader.byte() % 4;
  try {
    switch (format) {
      case 0:
        return check_mask(Mask::from_smtx(reader.rest(), kSource));
      case 1:
        return check_mask(parse_npy_mask(reader.rest(), kSource));
      case 2:
        return check_mask(parse_mtx_mask(reader.rest(), kSource));
      default:
        return check_mask(read_sparseprop(reader));
    }
  } catch (const Error& error) {
    const std::string_view message = error.what();
    const bool about_shape = format == 3 && message.starts_with("mask: ");
    check_message(message, format < 3 ? kSource : (about_shape ? "mask" : "sparseprop"));
  }
}

}  // namespace sparsejit::test

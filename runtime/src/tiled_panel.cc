// Compiled for AVX2; called only where the CPU has it.
#include "tiled_panel.h"

#include "vector_copy.h"

namespace sparsejit {
namespace {

// Streams [first, last), tile by tile. Shifted planes of a channel are read from the same lines;
// other streams are faster one by one.
void copy_streams(const StreamSource& source, int64_t first, int64_t last, float* to, int64_t step,
                  int64_t length) {
  const int64_t tiles = tiles_of(length);
  for (int64_t tile = 0; tile < tiles; ++tile, to += step) {
    const int64_t offset = std::min(tile * kTileFloats, length - kTileFloats);
    float* line = to;
    source.for_each_stream(first, last, [&](const float* stream) {
      _mm256_storeu_ps(line, _mm256_loadu_ps(stream + offset));
      _mm256_storeu_ps(line + kLanes, _mm256_loadu_ps(stream + offset + kLanes));
      line += kTileFloats;
    });
  }
}

// One tile of `streams` (at most 8) streams that are adjacent in the source.
void transpose_tile(const float* from, int64_t float_stride, int64_t streams, float* to) {
  for (int64_t t = 0; t < kTileFloats; t += kLanes) {
    transpose_spill(from + t * float_stride, float_stride, kLanes, streams, to + t, kTileFloats);
  }
}

void gather_tile(const float* from, int64_t float_stride, float* to) {
  for (int64_t t = 0; t < kTileFloats; ++t) to[t] = from[t * float_stride];
}

// A tile of `rows` rows into a tensor where they are adjacent.
void transpose_rows(const float* from, int64_t rows, float* to, int64_t float_stride) {
  for (int64_t row = 0; row < rows; row += kLanes) {
    const int64_t count = std::min(kLanes, rows - row);
    for (int64_t t = 0; t < kTileFloats; t += kLanes) {
      transpose_exact(from + row * kTileFloats + t, kTileFloats, count, kLanes,
                      to + t * float_stride + row, float_stride);
    }
  }
}

void scatter_rows(const float* from, int64_t rows, float* to, const StreamTarget& strides) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t t = 0; t < kTileFloats; ++t) {
      to[row * strides.stream_stride + t * strides.float_stride] = from[row * kTileFloats + t];
    }
  }
}

}  // namespace

TiledPanel::TiledPanel(const PanelKernel& kernel, int64_t streams, int64_t longest, int threads,
                       ScratchPool& scratch)
    : kernel_(kernel), plan_(kernel.plan()), sums_tile_(plan_.most_rows() * kTileFloats) {
  const int64_t tile = tiles_of(longest) * kTileFloats;
  if (streams > 0) tiles_ = scratch.take(plan_.blocks * plan_.block_streams * tile);
  const bool keeps_sums = plan_.blocks > 1 || plan_.own_in_tiles;
  for (int i = 0; keeps_sums && i < threads; ++i) {
    partial_.push_back(scratch.take(tiles_of(longest) * sums_tile_));
  }
}

float* TiledPanel::block_tiles(int32_t block, int64_t length) const {
  return tiles_.data() + block * tiles_of(length) * plan_.block_streams * kTileFloats;
}

void TiledPanel::pack(const StreamSource& source, int64_t first, int64_t last,
                      int64_t length) const {
  const int64_t tiles = tiles_of(length);
  const int64_t step = plan_.block_streams * kTileFloats;
  for (int64_t stream = first; stream < last;) {
    const auto block = static_cast<int32_t>(stream / plan_.block_streams);
    const int64_t in_block = stream % plan_.block_streams;
    float* to = block_tiles(block, length) + in_block * kTileFloats;
    if (source.float_stride == 1) {
      const int64_t end = source.shifted.empty()
                              ? stream + 1
                              : std::min(last, stream + plan_.block_streams - in_block);
      copy_streams(source, stream, end, to, step, length);
      stream = end;
      continue;
    }
    const float* from = source.data + stream * source.stream_stride;
    const bool adjacent = source.stream_stride == 1;
    const int64_t streams =
        adjacent ? std::min({kLanes, last - stream, plan_.block_streams - in_block}) : 1;
    for (int64_t tile = 0; tile < tiles; ++tile, to += step) {
      const float* at =
          from + std::min(tile * kTileFloats, length - kTileFloats) * source.float_stride;
      if (adjacent) {
        transpose_tile(at, source.float_stride, streams, to);
      } else {
        gather_tile(at, source.float_stride, to);
      }
    }
    stream += streams;
  }
}

void TiledPanel::run(PanelOperands operands, const StreamTarget& target, int32_t first_part,
                     int32_t last_part, int64_t length, int thread) const {
  float* const partial = partial_.empty() ? nullptr : partial_[thread].data();
  for (int32_t part = first_part; part < last_part; ++part) {
    run_part(operands, part, length, partial);
    if (plan_.own_in_tiles) unpack_part(partial, target, part, length);
  }
}

// Both calls of a block come one after the other, while its code is in the first-level cache.
void TiledPanel::run_part(PanelOperands operands, int32_t part, int64_t length,
                          float* partial) const {
  const int64_t whole = length / kTileFloats;
  float* const own = operands.own;
  for (int32_t block = 0; block < plan_.blocks; ++block) {
    const float* tiles = block_tiles(block, length);
    operands.gathered = tiles;
    operands.own = own;
    operands.partial = partial;
    kernel_.run(operands, block, part, part + 1, whole * kTileFloats);
    if (whole * kTileFloats == length) continue;
    operands.gathered = tiles + whole * plan_.block_streams * kTileFloats;
    if (own != nullptr) operands.own = own + length - kTileFloats;
    if (partial != nullptr) operands.partial = partial + whole * sums_tile_;
    kernel_.run(operands, block, part, part + 1, kTileFloats);
  }
}

void TiledPanel::unpack_part(const float* tiles, const StreamTarget& target, int32_t part,
                             int64_t length) const {
  const int64_t first = plan_.part_begin[part];
  const int64_t rows = plan_.part_begin[part + 1] - first;
  for (int64_t tile = 0; tile < tiles_of(length); ++tile) {
    const float* from = tiles + tile * sums_tile_;
    const int64_t at = std::min(tile * kTileFloats, length - kTileFloats);
    float* to = target.data + first * target.stream_stride + at * target.float_stride;
    if (target.stream_stride == 1) {
      transpose_rows(from, rows, to, target.float_stride);
    } else {
      scatter_rows(from, rows, to, target);
    }
  }
}

}  // namespace sparsejit

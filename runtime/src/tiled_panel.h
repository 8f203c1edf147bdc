// TiledPanel: one panel of a tiled kernel. Its gathered streams are copied into tiles, then threads
// run parts over them, block by block.
//
//     block 0            block 1                 a block: [tile][block_streams][16]
//     | tile 0 | 1 | 2 || tile 0 | 1 | 2 |       the last tile ends where the panel ends
//
// What the rows of a part come to between blocks lies in a buffer of the thread, in tiles too; only
// the last block writes to the caller's rows. So the last tile may overlap the one before it: both
// compute the same bits. Rows of which the caller wants another layout stay in the buffer and are
// copied from there, part by part, while they are in the cache.
//
// Where taps have shifts, a channel has a stream for each position of the kernel: copies of one
// packed stream, each begun where that position reads. Loads of a tile are aligned, those at a
// shift would cross cache lines.
//
// Each thread packs a share of the streams; all packing is over before the first part runs.
#pragma once

#include <span>
#include <vector>

#include "panel_kernel.h"
#include "scratch.h"
#include "sparsejit/conv2d.h"

namespace sparsejit {

// Where streams are in a tensor; either stride may be 1, any other is fine too.
struct TileTarget {
  float* data = nullptr;      // first float of stream 0
  int64_t stream_stride = 0;  // floats from stream to stream
  int64_t float_stride = 0;   // from one float of a stream to the next
};

struct TileSource {
  const float* data = nullptr;
  int64_t stream_stride = 0;
  int64_t float_stride = 0;
  // Where taps have shifts, tiles hold these of each channel, whose streams are its planes.
  std::span<const ShiftedPlane> shifted{};
  int64_t planes = 1;  // of a channel

  // Calls call(first float of stream) for streams [first, last).
  template <typename Call>
  void for_each_stream(int64_t first, int64_t last, const Call& call) const {
    if (shifted.empty()) {
      for (int64_t i = first; i < last; ++i) call(data + i * stream_stride);
      return;
    }
    const auto count = static_cast<int64_t>(shifted.size());
    int64_t index = first % count;
    const float* channel = data + first / count * planes * stream_stride;
    for (int64_t i = first; i < last; ++i) {
      call(channel + shifted[index].plane * stream_stride + shifted[index].shift);
      if (++index < count) continue;
      index = 0;
      channel += planes * stream_stride;
    }
  }
};

class TiledPanel {
 public:
  // `streams`: gathered; `longest`: floats of the longest panel.
  TiledPanel(const PanelKernel& kernel, int64_t streams, int64_t longest, int threads,
             ScratchPool& scratch);

  // Streams [first, last) of `length` floats, at least a tile.
  void pack(const TileSource& source, int64_t first, int64_t last, int64_t length) const;
  // `operands`: of the panel; what is gathered are the tiles. `target`: of plans that leave results
  // in tiles; others write to operands.own.
  void run(PanelOperands operands, const TileTarget& target, int32_t first_part, int32_t last_part,
           int64_t length, int thread) const;

 private:
  float* block_tiles(int32_t block, int64_t length) const;
  void run_part(PanelOperands operands, int32_t part, int64_t length, float* partial) const;
  void unpack_part(const float* tiles, const TileTarget& target, int32_t part,
                   int64_t length) const;

  const PanelKernel& kernel_;
  const Plan& plan_;
  const int64_t sums_tile_;  // floats of a tile of the sums of a part
  ScratchPool::Buffer tiles_;
  std::vector<ScratchPool::Buffer> partial_;  // by thread; empty where nothing is kept in tiles
};

}  // namespace sparsejit

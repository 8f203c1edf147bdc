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

#include <vector>

#include "panel_kernel.h"
#include "scratch.h"
#include "strided_streams.h"

namespace sparsejit {

class TiledPanel {
 public:
  // `streams`: gathered; `longest`: floats of the longest panel.
  TiledPanel(const PanelKernel& kernel, int64_t streams, int64_t longest, int threads,
             ScratchPool& scratch);

  // Streams [first, last) of `length` floats, at least a tile.
  void pack(const StreamSource& source, int64_t first, int64_t last, int64_t length) const;
  // `operands`: of the panel; what is gathered are the tiles. `target`: of plans that leave results
  // in tiles; others write to operands.own.
  void run(PanelOperands operands, const StreamTarget& target, int32_t first_part,
           int32_t last_part, int64_t length, int thread) const;

 private:
  float* block_tiles(int32_t block, int64_t length) const;
  void run_part(PanelOperands operands, int32_t part, int64_t length, float* partial) const;
  void unpack_part(const float* tiles, const StreamTarget& target, int32_t part,
                   int64_t length) const;

  const PanelKernel& kernel_;
  const Plan& plan_;
  const int64_t sums_tile_;  // floats of a tile of the sums of a part
  ScratchPool::Buffer tiles_;
  std::vector<ScratchPool::Buffer> partial_;  // by thread; empty where nothing is kept in tiles
};

}  // namespace sparsejit

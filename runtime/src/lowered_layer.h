// A mask lowered for one size of images: how its streams lie, and the tap tables of both passes.
// Made once per mask and size of a layer and shared. Linear layers have one size, 1x1.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "sparsejit/conv2d.h"
#include "sparsejit/mask.h"
#include "sparsejit/plan.h"
#include "sparsejit/taps.h"

namespace sparsejit {

// Everything the tables depend on; part of the key of generated code.
struct LayerSpec {
  Mask mask;
  Conv2d conv;  // resolved
  ImageSize image;
  bool operator==(const LayerSpec&) const = default;
};

// Thread-safe. The tables are made when somebody first reads them: generated code that comes from
// the cache runs without them.
class LoweredLayer {
 public:
  explicit LoweredLayer(LayerSpec s);

  const TapTable& table(Pass pass) const;
  // What kernels of the tiled and the strip family walk: the same taps without shifts.
  const TapTable& unshifted_table(Pass pass) const;
  const TapTable& table(Pass pass, bool unshifted) const {
    return unshifted ? unshifted_table(pass) : table(pass);
  }
  // Streams on the side that the pass of a step gathers from, and its rows.
  int64_t gathered_streams(Pass pass) const { return pass == Pass::forward ? sources() : rows(); }
  int64_t own_streams(Pass pass) const { return pass == Pass::forward ? rows() : sources(); }
  // Streams that the unshifted table gathers from.
  int64_t unshifted_streams(Pass pass) const;
  bool has_shifts() const { return !shifted(Pass::forward).empty(); }
  // Of a channel; empty where no tap has a shift.
  const std::vector<ShiftedPlane>& shifted(Pass pass) const { return shifted_[index_of(pass)]; }
  // Planes of a channel that the pass gathers from.
  int64_t planes(Pass pass) const {
    return pass == Pass::forward ? std::ssize(streams.source.planes) : 1;
  }

  const LayerSpec spec;
  const ConvStreams streams;

 private:
  static int index_of(Pass pass) { return pass == Pass::forward ? 0 : 1; }
  int64_t rows() const { return spec.mask.rows(); }
  int64_t sources() const { return source_streams(spec.mask.shape(), spec.conv, streams); }

  mutable std::once_flag forward_once_;
  mutable std::once_flag backward_once_;
  mutable std::array<std::once_flag, 2> unshifted_once_;
  mutable TapTable forward_;
  mutable TapTable backward_;
  mutable std::array<TapTable, 2> unshifted_;
  const std::array<std::vector<ShiftedPlane>, 2> shifted_;
};

using LoweredLayerPtr = std::shared_ptr<const LoweredLayer>;

// A layer's mask, lowered for the sizes of images it meets. Thread-safe.
class Lowerings {
 public:
  Lowerings(Mask mask, const Conv2d& conv) : mask_(std::move(mask)), conv_(conv) {}

  const Mask& mask() const { return mask_; }
  const Conv2d& conv() const { return conv_; }
  LoweredLayerPtr get(ImageSize image);

 private:
  const Mask mask_;
  const Conv2d conv_;  // resolved
  std::mutex mutex_;
  std::vector<LoweredLayerPtr> known_;  // oldest first
};

}  // namespace sparsejit

// TrainOptions: everything a training run depends on, besides the data.
//
// Validation has two halves: the command line checks each option as it reads it, and
// `validate_options` checks what needs the data or several options at once. Both happen before
// any training and throw Error with the value seen and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/dataset.h"

namespace sparsejit::frontend {

// What computes the hidden layers. automatic measures native against interpreted.
enum class TrainEngine { automatic, jit, interpreted, dense };

// fixed: a random mask that stays. gmp: gradual magnitude pruning. rigl: drop the smallest, grow
// where the dense gradient is largest. set: drop the smallest, grow at random.
enum class Method { fixed, gmp, rigl, set };

// mlp: linear layers. cnn: 3x3 convolutions, see architecture.h.
enum class Net { mlp, cnn };

const char* to_text(Net net);             // "mlp", "cnn"
const char* to_text(TrainEngine engine);  // "auto", "jit", "interpreted", "dense"
const char* to_text(Method method);       // "fixed", "gmp", "rigl", "set"

inline constexpr double kDefaultUpdateFraction = 0.3;
inline const std::vector<int64_t> kDefaultHidden = {1024, 1024};
inline const std::vector<int64_t> kDefaultChannels = {32, 64, 64};

// Most positions (rows times columns) of one weight matrix; its dense form takes 4 bytes each.
inline constexpr int64_t kMaxPositions = int64_t{1} << 28;

struct TrainOptions {
  std::optional<std::string> data;  // folder; none: the embedded digits
  int64_t classes = 10;
  Net net = Net::mlp;
  std::vector<int64_t> hidden;    // mlp; empty: kDefaultHidden
  std::vector<int64_t> channels;  // cnn; empty: kDefaultChannels
  std::vector<int64_t> strides;   // cnn, one a convolution; empty: see architecture.h
  double sparsity = 0.95;
  Method method = Method::rigl;
  TrainEngine engine = TrainEngine::automatic;
  int64_t batch = 128;
  int64_t epochs = 30;
  int64_t threads = 1;  // 0: all cores
  uint64_t seed = 1;
  double learning_rate = 0.05;
  double momentum = 0.9;
  // Empty: see plan_mask_schedule.
  std::optional<double> initial_sparsity;
  std::optional<double> update_fraction;
  std::optional<int64_t> update_start;
  std::optional<int64_t> update_end;
  std::optional<int64_t> update_interval;
  bool compare = true;
  bool quiet = false;
};

int64_t steps_per_epoch(const TrainOptions& options, const Dataset& data);

// Throws Error when options contradict each other or the data.
void validate_options(const TrainOptions& options, const Dataset& data);

}  // namespace sparsejit::frontend

// ProgressPrinter: shows a training run on standard error as it happens.
//
// On a terminal one line rewrites itself while an epoch runs; elsewhere (a file, a pipe) there is
// one plain line for each epoch. Mask updates get a line each, either way.
#pragma once

#include <chrono>
#include <string>

#include "train/trainer.h"

namespace sparsejit::frontend {

class ProgressPrinter final : public TrainObserver {
 public:
  explicit ProgressPrinter(int64_t epochs);
  ~ProgressPrinter() override;
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void on_step(const StepReport& report) override;
  void on_mask_update(const MaskUpdate& update) override;
  void on_epoch(const EpochReport& report) override;
  void on_remark(const std::string& text) override;

 private:
  void print_line(const std::string& text);

  const int64_t epochs_;
  const bool terminal_;
  bool bar_shown_ = false;  // the cursor stands at the end of an unfinished line
  std::chrono::steady_clock::time_point last_bar_{};
};

std::string to_text(const MaskUpdate& update);

}  // namespace sparsejit::frontend

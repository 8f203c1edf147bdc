// What goes to standard error while a run goes on; see train_progress.h.
#include "train/train_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "train/units.h"

namespace sparsejit::frontend {
namespace {

constexpr auto kBarInterval = std::chrono::milliseconds(100);
constexpr int64_t kBarWidth = 24;
constexpr const char* kEraseLine = "\r\x1b[K";

std::string bar(int64_t done, int64_t total) {
  const auto filled = static_cast<size_t>(kBarWidth * done / total);
  return std::string(filled, '#') + std::string(static_cast<size_t>(kBarWidth) - filled, '.');
}

}  // namespace

ProgressPrinter::ProgressPrinter(int64_t epochs)
    : epochs_(epochs), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressPrinter::~ProgressPrinter() {
  if (bar_shown_) fmt::print(stderr, "\n");
}

void ProgressPrinter::on_step(const StepReport& report) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_bar_ < kBarInterval) return;
  last_bar_ = now;
  bar_shown_ = true;
  fmt::print(stderr, "{}epoch {:>3}/{} [{}] loss {:.4f}  accuracy {:5.2f}%  {}", kEraseLine,
             report.epoch + 1, epochs_, bar(report.step + 1, report.steps), report.loss,
             100.0 * report.accuracy, seconds_text(report.seconds));
}

void ProgressPrinter::on_mask_update(const MaskUpdate& update) { print_line(to_text(update)); }

void ProgressPrinter::on_epoch(const EpochReport& report) {
  print_line(fmt::format("epoch {:>3}/{}  loss {:.4f}  accuracy {:5.2f}% train {:5.2f}% test  {}",
                         report.epoch + 1, epochs_, report.loss, 100.0 * report.train_accuracy,
                         100.0 * report.test_accuracy, seconds_text(report.seconds)));
}

void ProgressPrinter::on_remark(const std::string& text) {
  print_line(fmt::format("sparsejit: {}", text));
}

void ProgressPrinter::print_line(const std::string& text) {
  fmt::print(stderr, "{}{}\n", bar_shown_ ? kEraseLine : "", text);
  bar_shown_ = false;
}

std::string to_text(const MaskUpdate& update) {
  const MaskChange& change = update.change;
  std::string text = fmt::format("  step {}, layer {}: {:.4g}% sparse, ", update.steps_done,
                                 update.layer + 1, 100.0 * update.sparsity);
  if (!change.changed()) return text + "mask unchanged, nothing regenerated";
  text += fmt::format("kept {}, added {}, removed {}; ", change.kept, change.added, change.removed);
  if (change.kernels_generated + change.kernels_reused > 0) {
    text += fmt::format("kernels: {} new, {} cached, {} generated in {}; ",
                        change.kernels_generated, change.kernels_reused,
                        bytes_text(change.code_bytes), seconds_text(change.compile_seconds));
  }
  return text + fmt::format("{} in all", seconds_text(update.seconds));
}

}  // namespace sparsejit::frontend

// Embeds the files of frontend/data. The assembler copies them (.incbin), so that neither a
// generator nor a huge array literal is needed; SPARSEJIT_DATA_DIR comes from the build.
#include "train/digits_data.h"

#define SPARSEJIT_EMBED(symbol, file)                         \
  asm(".section .rodata\n"                                    \
      ".balign 16\n" #symbol                                  \
      "_begin:\n"                                             \
      ".incbin \"" SPARSEJIT_DATA_DIR "/" file "\"\n" #symbol \
      "_end:\n"                                               \
      ".previous\n");                                         \
  extern "C" const uint8_t symbol##_begin[];                  \
  extern "C" const uint8_t symbol##_end[]

SPARSEJIT_EMBED(sparsejit_digits_images, "digits-images-idx3-ubyte");
SPARSEJIT_EMBED(sparsejit_digits_labels, "digits-labels-idx1-ubyte");

namespace sparsejit::frontend {

std::span<const uint8_t> digits_images() {
  return {sparsejit_digits_images_begin, sparsejit_digits_images_end};
}

std::span<const uint8_t> digits_labels() {
  return {sparsejit_digits_labels_begin, sparsejit_digits_labels_end};
}

}  // namespace sparsejit::frontend

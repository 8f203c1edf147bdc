// Slabs cover every pixel once, in order, and are whole vectors where tensors are used in place.
#include "slabs.h"

#include <gtest/gtest.h>

namespace sparsejit::test {
namespace {

StreamGrid grid_of(const MaskShape& shape, const Conv2d& conv, ImageSize size) {
  return plan_streams(shape, conv, size).grid;
}

// Images and rows in the order of the slabs; each exactly once.
void expect_covers(const Slabs& slabs, const StreamGrid& grid, int64_t images) {
  int64_t image = 0;
  int64_t row = 0;
  for (int64_t i = 0; i < slabs.count(); ++i) {
    const Slab slab = slabs.at(i);
    EXPECT_EQ(slab.first_image, image);
    EXPECT_EQ(slab.first_row, row);
    EXPECT_GT(slab.images, 0);
    EXPECT_GT(slab.rows, 0);
    EXPECT_GE(slab.length, grid.length(slab.images, slab.rows));
    row += slab.rows;
    if (row < grid.used_rows) continue;
    row = 0;
    image += slab.images;
  }
  EXPECT_EQ(image, images);
  EXPECT_EQ(row, 0);
}

TEST(Slabs, PackedImagesAreMergedUpToTheTarget) {
  const StreamGrid grid = grid_of({4, 4, 3, 3}, {.padding = 1}, {7, 7});
  for (int64_t images = 1; images <= 40; ++images) {
    const Slabs slabs({.grid = grid, .images = images, .target = 512});
    expect_covers(slabs, grid, images);
    EXPECT_LE(slabs.longest(), 512);
    EXPECT_EQ(slabs.planned_length() % 8, 0);
    EXPECT_EQ(slabs.count(), (images + 7) / 8);
  }
}

TEST(Slabs, LargePackedImagesAreCutIntoBands) {
  const StreamGrid grid = grid_of({4, 4, 3, 3}, {.padding = 1}, {100, 90});
  const Slabs slabs({.grid = grid, .images = 3, .target = 512});
  expect_covers(slabs, grid, 3);
  EXPECT_GT(slabs.count(), 3);
  EXPECT_EQ(slabs.images_per_slab(), 1);
  EXPECT_LE(slabs.longest(), 4 * 512 + grid.row_pitch);
}

TEST(Slabs, TensorsInPlaceGoImageByImage) {
  const StreamGrid grid = grid_of({4, 4, 1, 1}, {}, {14, 14});
  const Slabs slabs({.grid = grid,
                     .images = 5,
                     .any_in_place = true,
                     .all_in_place = true,
                     .in_place_merged = false,
                     .target = 512});
  expect_covers(slabs, grid, 5);
  EXPECT_EQ(slabs.count(), 5);
  EXPECT_EQ(slabs.planned_length(), 196);
}

TEST(Slabs, MergedTensorsInPlaceAreOneSlab) {
  const StreamGrid grid = grid_of({4, 4, 1, 1}, {}, {7, 7});
  const Slabs slabs(
      {.grid = grid, .images = 40, .any_in_place = true, .all_in_place = true, .target = 512});
  expect_covers(slabs, grid, 40);
  EXPECT_EQ(slabs.count(), 1);
  EXPECT_EQ(slabs.planned_length(), 40 * 49);
}

// Only the last slab, or band, may end inside a vector: kernels with a tail run all of them.
TEST(Slabs, PartlyPackedSlabsAreWholeVectors) {
  for (const ImageSize size : {ImageSize{1, 1}, {7, 7}, {6, 6}, {61, 67}, {130, 20}}) {
    const StreamGrid grid = grid_of({4, 4, 1, 1}, {}, size);
    for (int64_t images : {1, 9, 100, 2500}) {
      for (const bool merged : {true, false}) {
        const Slabs slabs({.grid = grid,
                           .images = images,
                           .any_in_place = true,
                           .in_place_merged = merged,
                           .target = 512});
        expect_covers(slabs, grid, images);
        const int64_t last = slabs.at(slabs.count() - 1).length;
        EXPECT_EQ(slabs.planned_length() % 8, last % 8);
        if (!merged && slabs.count() == images) continue;
        for (int64_t i = 0; i + 1 < slabs.count(); ++i) {
          const bool ends_image = !merged && slabs.at(i + 1).first_row == 0;
          EXPECT_TRUE(ends_image || slabs.at(i).length % 8 == 0) << size.height << " " << images;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sparsejit::test

// Convolutions on every engine against the naive reference: the grid of geometries, layouts, large
// images in bands, small ones merged.
#include <gtest/gtest.h>

#include "support/conv_case.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

class ConvGrid : public ::testing::TestWithParam<Engine> {
 protected:
  void check(const ConvCase& conv_case) { check(conv_case, runtime_); }
  void check(const ConvCase& conv_case, Runtime& runtime) {
    SCOPED_TRACE(to_text(conv_case));
    const Layer layer = forced_conv(conv_case, GetParam(), runtime);
    expect_matches_reference(conv_case, run_conv(layer, conv_case));
    expect_ran_on(layer, GetParam());
  }

  Runtime runtime_{with_threads(2)};
};

bool is_possible(const ConvCase& c) {
  const auto fits = [](int64_t input, int64_t padding, int64_t kernel, int64_t dilation) {
    return input + 2 * padding >= dilation * (kernel - 1) + 1;
  };
  return fits(c.size.height, c.conv.padding.top, c.mask.shape().kernel_h, c.conv.dilation.h) &&
         fits(c.size.width, c.conv.padding.left, c.mask.shape().kernel_w, c.conv.dilation.w);
}

TEST_P(ConvGrid, EveryGeometryMatchesTheReference) {
  struct Kernel {
    int64_t h, w;
  };
  uint64_t seed = 0;
  int cases = 0;
  for (const Kernel kernel : {Kernel{1, 1}, {3, 3}, {5, 5}, {7, 7}, {3, 1}, {1, 3}}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {0, 1, 3}) {
        for (const int64_t dilation : {1, 2}) {
          for (const int64_t groups : {1, 2, 4}) {
            ++seed;
            ConvCase c;
            c.mask = Mask::random({8, 4 / groups, kernel.h, kernel.w}, 0.5, seed);
            c.conv = {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups};
            c.images = 1 + static_cast<int64_t>(seed % 3);
            c.size = seed % 2 == 0 ? ImageSize{9, 14} : ImageSize{13, 8};
            c.edge = seed % 4 < 2 ? Edge::end : Edge::start;
            c.with_bias = seed % 5 != 0;
            c.relu = seed % 3 == 0;
            c.seed = seed;
            if (seed % 7 == 0) c.arrange(ImageArrangement::channels_last);
            if (!is_possible(c)) continue;
            check(c);
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 250);
}

TEST_P(ConvGrid, GeometryMayDifferByAxisAndSide) {
  const Mask mask = Mask::random({6, 5, 3, 2}, 0.4, 1);
  for (const Conv2d& conv :
       {Conv2d{.stride = {2, 1}, .padding = {1, 0}}, Conv2d{.stride = {1, 3}, .padding = {0, 2}},
        Conv2d{.padding = {0, 2, 1, 0}}, Conv2d{.padding = {3, 0, 0, 4}, .dilation = {2, 3}},
        Conv2d{.padding = Padding2d::same()},
        Conv2d{.padding = Padding2d::same(), .dilation = {3, 1}},
        Conv2d{.stride = {3, 2}, .padding = {5, 4, 6, 7}}, Conv2d{.stride = 4}}) {
    for (const ImageSize size : {ImageSize{7, 11}, {12, 5}, {16, 16}}) {
      check({.mask = mask, .conv = conv, .images = 3, .size = size});
    }
  }
}

// Even kernels pad one more at the bottom and right, as PyTorch does.
TEST_P(ConvGrid, SamePaddingKeepsTheSize) {
  for (const int64_t kernel : {1, 2, 3, 4, 5}) {
    ConvCase c{.mask = Mask::random({3, 4, kernel, kernel}, 0.3, 2),
               .conv = {.padding = Padding2d::same(), .dilation = 2},
               .images = 2,
               .size = {10, 9}};
    const Layer layer = forced_conv(c, GetParam(), runtime_);
    EXPECT_EQ(layer.output_size(c.size), c.size);
    EXPECT_EQ(layer.conv2d().padding.top, kernel - 1);
    check(c);
    c.conv.dilation = 1;
    check(c);
  }
}

// Pixels that only padding surrounds, kernels larger than the image, images of one pixel.
TEST_P(ConvGrid, PaddingMayExceedKernelAndImage) {
  for (const ImageSize size : {ImageSize{1, 1}, {1, 7}, {2, 3}, {8, 1}}) {
    for (const int64_t padding : {3, 5, 9}) {
      check({.mask = Mask::random({4, 3, 3, 3}, 0.3, 3),
             .conv = {.padding = padding},
             .images = 4,
             .size = size});
      check({.mask = Mask::random({4, 3, 7, 7}, 0.6, 4),
             .conv = {.stride = 2, .padding = padding},
             .images = 2,
             .size = size});
      check(
          {.mask = Mask::random({4, 3, 1, 1}, 0.3, 5), .conv = {.padding = padding}, .size = size});
    }
  }
}

TEST_P(ConvGrid, EveryArrangementMatchesTheReference) {
  const std::vector<Conv2d> geometries = {Conv2d{.padding = 1}, Conv2d{.stride = 2, .padding = 1},
                                          Conv2d{.stride = 3}};
  for (const ImageArrangement in : all_image_arrangements()) {
    for (const ImageArrangement out : writable_image_arrangements()) {
      for (const Edge edge : {Edge::end, Edge::start}) {
        ConvCase c{.images = 3, .size = {9, 11}};
        c.x = c.dy = in;
        c.y = c.dx = out;
        c.edge = edge;
        for (const Conv2d& conv : geometries) {
          c.mask = Mask::random({19, 18, 3, 3}, 0.95, 6);
          c.conv = conv;
          check(c);
        }
        c.mask = Mask::random({11, 17, 1, 1}, 0.7, 7);
        c.conv = {};
        check(c);
        c.size = {14, 12};  // long enough to be used in place
        check(c);
        c.conv = {.stride = 2};
        check(c);
      }
    }
  }
}

TEST_P(ConvGrid, EveryImageCountAndWidthMatchesTheReference) {
  for (int64_t images = 1; images <= 17; ++images) {
    check({.mask = Mask::random({5, 4, 3, 3}, 0.5, 8),
           .conv = {.padding = 1},
           .images = images,
           .size = {7, 7}});
    check({.mask = Mask::random({5, 4, 1, 1}, 0.5, 9), .images = images, .size = {4, 6}});
  }
  for (int64_t width = 1; width <= 17; ++width) {
    for (const int64_t stride : {1, 2}) {
      check({.mask = Mask::random({5, 4, 3, 3}, 0.5, 10),
             .conv = {.stride = stride, .padding = 1},
             .images = 9,
             .size = {5, width}});
      ConvCase c{.mask = Mask::random({5, 4, 1, 1}, 0.5, 11),
                 .conv = {.stride = stride},
                 .images = 2,
                 .size = {17, width}};
      check(c);
      c.arrange(ImageArrangement::channel_major);
      check(c);
    }
  }
}

// Rows of one large image, cut into bands that repeat the rows between them.
TEST_P(ConvGrid, LargeImagesAreCutIntoBands) {
  MachineModel small = detect_machine();
  small.l2_bytes = 16 << 10;  // panels of 256 floats, bands of about 1024
  Runtime runtime(with_machine(small, 2));
  for (const Conv2d& conv :
       {Conv2d{.padding = 1}, Conv2d{.padding = 2, .dilation = 2},
        Conv2d{.stride = 2, .padding = 1}, Conv2d{.stride = 3}, Conv2d{.padding = 6}}) {
    for (const bool relu : {false, true}) {
      ConvCase c{.mask = Mask::random({6, 5, 3, 3}, 0.6, 12),
                 .conv = conv,
                 .images = 2,
                 .size = {83, 90},
                 .relu = relu};
      check(c, runtime);
      c.arrange(ImageArrangement::channels_last);
      check(c, runtime);
    }
  }
  ConvCase pointwise{.mask = Mask::random({6, 5, 1, 1}, 0.4, 13), .images = 2, .size = {67, 91}};
  pointwise.y = pointwise.dx = ImageArrangement::channels_last;
  check(pointwise, runtime);
}

TEST_P(ConvGrid, AwkwardMasksMatchTheReference) {
  const MaskShape shape{4, 3, 3, 3};
  std::vector<uint8_t> one(4 * 27, 0);
  one[31] = 1;
  std::vector<uint8_t> row(4 * 27, 0);
  std::fill(row.begin() + 27, row.begin() + 54, 1);
  for (const Mask& mask : {Mask::random(shape, 1, 1), Mask::random(shape, 0, 1),
                           Mask::from_dense(one, shape), Mask::from_dense(row, shape)}) {
    for (const int64_t stride : {1, 2}) {
      for (const bool relu : {false, true}) {
        check({.mask = mask,
               .conv = {.stride = stride, .padding = 1},
               .images = 2,
               .size = {8, 9},
               .relu = relu});
      }
    }
  }
}

TEST_P(ConvGrid, ManyWeightsOfOneOutputChannelMatchTheReference) {
  check({.mask = Mask::random({1, 4096, 3, 3}, 0, 1), .conv = {.padding = 1}, .size = {3, 4}});
}

TEST_P(ConvGrid, DepthwiseMatchesTheReference) {
  for (const int64_t stride : {1, 2}) {
    ConvCase c{.mask = Mask::random({24, 1, 3, 3}, 0.3, 14),
               .conv = {.stride = stride, .padding = 1, .groups = 24},
               .images = 3,
               .size = {15, 14}};
    check(c);
    c.mask = Mask::random({24, 1, 5, 5}, 0.3, 15);
    c.conv.groups = 12;  // two outputs an input
    check(c);
  }
}

TEST_P(ConvGrid, GradientsMayBeLeftOut) {
  for (const int64_t stride : {1, 2}) {
    for (const int left_out : {1, 2, 3}) {
      check({.mask = Mask::random({7, 3, 3, 3}, 0.4, 16),
             .conv = {.stride = stride, .padding = 1},
             .images = 5,
             .size = {10, 10},
             .with_dx = (left_out & 1) == 0,
             .with_d_values = (left_out & 2) == 0,
             .relu = true});
    }
  }
}

TEST_P(ConvGrid, SizesMayAlternate) {
  ConvCase c{.mask = Mask::random({7, 6, 3, 3}, 0.5, 17), .conv = {.padding = 1}};
  const Layer layer = forced_conv(c, GetParam(), runtime_);
  for (int round = 0; round < 2; ++round) {
    for (const ImageSize size : {ImageSize{8, 8}, {5, 9}, {20, 17}}) {
      for (const int64_t images : {4, 1, 7}) {
        c.size = size;
        c.images = images;
        SCOPED_TRACE(to_text(c));
        expect_matches_reference(c, run_conv(layer, c));
      }
    }
  }
}

TEST_P(ConvGrid, NoImagesGiveZeroGradients) {
  ConvCase c{.mask = Mask::random({3, 2, 3, 3}, 0.5, 18),
             .conv = {.padding = 1},
             .images = 0,
             .size = {8, 8}};
  const LayerRun run = run_conv(forced_conv(c, GetParam(), runtime_), c);
  EXPECT_EQ(run.outputs.d_values, std::vector<float>(27, 0.0F));
  EXPECT_EQ(run.outputs.d_bias, std::vector<float>(3, 0.0F));
}

INSTANTIATE_TEST_SUITE_P(Engines, ConvGrid, ::testing::ValuesIn(available_engines()),
                         [](const auto& engine) { return std::string(to_text(engine.param)); });

// Streams of a few vectors: linear layers take the backward pass in two steps then, and products by
// destination would add the terms of shifted taps in other lanes than fused kernels do.
TEST(ConvEngines, AgreeToTheBitOnShortStreams) {
  if (available_engines().size() == 1) GTEST_SKIP() << "no AVX2";
  Runtime runtime(with_threads(1));
  for (const Conv2d& conv : {Conv2d{.padding = 1}, Conv2d{.stride = 2, .padding = 1},
                             Conv2d{.stride = 4, .padding = {4, 1, 6, 4}, .dilation = 2}}) {
    for (const ImageSize size : {ImageSize{1, 1}, {3, 2}, {4, 4}, {3, 14}, {5, 5}}) {
      for (int64_t images = 1; images <= 3; ++images) {
        for (const int64_t kernel : {1, 3}) {
          if (!is_possible({.mask = Mask::random({1, 1, kernel, kernel}, 0, 1),
                            .conv = conv,
                            .size = size})) {
            continue;
          }
          ConvCase c{.mask = Mask::random({12, 9, kernel, kernel}, 0.3, 20),
                     .conv = conv,
                     .images = images,
                     .size = size};
          SCOPED_TRACE(to_text(c));
          expect_same_bits(run_conv(forced_conv(c, Engine::interpreted, runtime), c).outputs,
                           run_conv(forced_conv(c, Engine::native, runtime), c).outputs);
        }
      }
    }
  }
}

// native and interpreted, any number of threads: the same bits.
TEST(ConvEngines, AgreeToTheBit) {
  if (available_engines().size() == 1) GTEST_SKIP() << "no AVX2";
  Runtime one(with_threads(1));
  Runtime two(with_threads(2));
  for (const Conv2d& conv : {Conv2d{}, Conv2d{.padding = 1}, Conv2d{.stride = 2, .padding = 1}}) {
    for (const ImageSize size : {ImageSize{3, 3}, {4, 5}, {7, 7}, {14, 14}, {30, 41}, {70, 70}}) {
      for (const int64_t kernel : {1, 3}) {
        if (size.height < kernel) continue;
        ConvCase c{.mask = Mask::random({40, 30, kernel, kernel}, 0.8, 19),
                   .conv = conv,
                   .images = 5,
                   .size = size,
                   .relu = kernel == 3};
        SCOPED_TRACE(to_text(c));
        const LayerOutputs expected = run_conv(forced_conv(c, Engine::native, one), c).outputs;
        expect_same_bits(run_conv(forced_conv(c, Engine::native, two), c).outputs, expected);
        expect_same_bits(run_conv(forced_conv(c, Engine::interpreted, one), c).outputs, expected);
        expect_same_bits(run_conv(forced_conv(c, Engine::interpreted, two), c).outputs, expected);
      }
    }
  }
}

}  // namespace
}  // namespace sparsejit::test

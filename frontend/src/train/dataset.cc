// Reads the two sources of images and gathers batches; see dataset.h. All checks that concern more
// than one file (counts, sizes, labels) are here, those of a single file in idx.cc.
#include "train/dataset.h"

#include <algorithm>
#include <filesystem>

#include "sparsejit/error.h"
#include "train/digits_data.h"
#include "train/idx.h"

namespace sparsejit::frontend {
namespace {

constexpr int64_t kTestEvery = 5;
// One cache line of the feature-major batch: gathering 16 images at once writes whole lines.
constexpr int64_t kGatherSamples = 16;

std::string find_file(const std::string& folder, const std::string& name) {
  const std::string plain = (std::filesystem::path(folder) / name).string();
  for (const std::string& path : {plain, plain + ".gz"}) {
    if (std::error_code absent; std::filesystem::exists(path, absent)) return path;
  }
  throw_error("{}: no such file, plain or .gz; expected an MNIST-style folder", plain);
}

ImageSet make_set(IdxImages images, std::vector<uint8_t> labels, int64_t classes,
                  const std::string& images_name, const std::string& labels_name) {
  const auto label_count = static_cast<int64_t>(labels.size());
  if (label_count != images.count) {
    throw_error("{}: {} labels; expected {}, one for each image of {}", labels_name, label_count,
                images.count, images_name);
  }
  for (int64_t i = 0; i < label_count; ++i) {
    if (labels[static_cast<size_t>(i)] >= classes) {
      throw_error("{}: label {} of image {}; expected 0..{} (see --classes)", labels_name,
                  labels[static_cast<size_t>(i)], i, classes - 1);
    }
  }
  return {images.count, images.rows, images.cols, std::move(images.pixels), std::move(labels)};
}

ImageSet load_set(const std::string& folder, const std::string& prefix, int64_t classes) {
  const std::string images = find_file(folder, prefix + "-images-idx3-ubyte");
  const std::string labels = find_file(folder, prefix + "-labels-idx1-ubyte");
  IdxImages parsed = parse_idx_images(read_idx_file(images), images);
  return make_set(std::move(parsed), parse_idx_labels(read_idx_file(labels), labels), classes,
                  images, labels);
}

float scale_for(const ImageSet& train) {
  const uint8_t brightest = *std::max_element(train.pixels.begin(), train.pixels.end());
  return brightest == 0 ? 1.0F : 1.0F / static_cast<float>(brightest);
}

void append_image(const ImageSet& from, int64_t image, ImageSet& to) {
  const auto first = from.pixels.begin() + image * from.features();
  to.pixels.insert(to.pixels.end(), first, first + from.features());
  to.labels.push_back(from.labels[static_cast<size_t>(image)]);
  ++to.count;
}

void gather_channel(const ImageSet& set, float pixel_scale, std::span<const int64_t> samples,
                    float* channel) {
  const int64_t features = set.features();
  for (const int64_t sample : samples) {
    const uint8_t* image = set.pixels.data() + sample * features;
    for (int64_t i = 0; i < features; ++i) {
      *channel++ = static_cast<float>(image[i]) * pixel_scale;
    }
  }
}

}  // namespace

Dataset embedded_digits(int64_t classes) {
  const auto images = digits_images();
  const auto labels = digits_labels();
  const ImageSet all =
      make_set(parse_idx_images({images.begin(), images.end()}, "embedded digit images"),
               parse_idx_labels({labels.begin(), labels.end()}, "embedded digit labels"), classes,
               "the embedded digit images", "the embedded digit labels");
  Dataset data{"UCI digits", classes, 1.0F, {}, {}};
  for (ImageSet* part : {&data.train, &data.test}) {
    part->rows = all.rows;
    part->cols = all.cols;
  }
  for (int64_t i = 0; i < all.count; ++i) {
    append_image(all, i, i % kTestEvery == kTestEvery - 1 ? data.test : data.train);
  }
  data.pixel_scale = scale_for(data.train);
  return data;
}

Dataset load_dataset(const std::string& folder, int64_t classes) {
  if (std::error_code absent; !std::filesystem::is_directory(folder, absent)) {
    throw_error("--data: \"{}\" is not a folder; expected one with MNIST-style IDX files", folder);
  }
  Dataset data{folder, classes, 1.0F, load_set(folder, "train", classes),
               load_set(folder, "t10k", classes)};
  if (data.test.rows != data.train.rows || data.test.cols != data.train.cols) {
    throw_error("{}: images of {}x{} pixels; expected {}x{} as in the training images",
                find_file(folder, "t10k-images-idx3-ubyte"), data.test.rows, data.test.cols,
                data.train.rows, data.train.cols);
  }
  data.pixel_scale = scale_for(data.train);
  return data;
}

void gather_images(const ImageSet& set, float pixel_scale, std::span<const int64_t> samples,
                   StreamMatrix& input) {
  const int64_t features = set.features();
  if (input.features() == 1) return gather_channel(set, pixel_scale, samples, input.stream(0));
  SPARSEJIT_CHECK(input.features(), ==, features);
  const auto count = static_cast<int64_t>(samples.size());
  const uint8_t* images[kGatherSamples];
  for (int64_t first = 0; first < count; first += kGatherSamples) {
    const int64_t block = std::min(kGatherSamples, count - first);
    for (int64_t i = 0; i < block; ++i) {
      images[i] = set.pixels.data() + samples[static_cast<size_t>(first + i)] * features;
    }
    for (int64_t feature = 0; feature < features; ++feature) {
      float* line = input.stream(feature) + first;
      for (int64_t i = 0; i < block; ++i) {
        line[i] = static_cast<float>(images[i][feature]) * pixel_scale;
      }
    }
  }
}

}  // namespace sparsejit::frontend

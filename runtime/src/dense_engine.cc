// See dense_engine.h. Read run_dense_forward first.
#include "dense_engine.h"

#include <algorithm>
#include <limits>

#include "sparsejit/error.h"

namespace sparsejit {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
// Fewer floats than this are quicker handled by the caller alone.
constexpr int64_t kMinShared = 100'000;

// [first, last) of `count` to each thread.
template <typename Call>
void share(ThreadPool& pool, int64_t count, int64_t floats, const Call& call) {
  if (floats < kMinShared || pool.threads() == 1) {
    call(int64_t{0}, count);
    return;
  }
  pool.run([&](int thread) {
    call(count * thread / pool.threads(), count * (thread + 1) / pool.threads());
  });
}

// A (batch x features) tensor as rows of adjacent floats: of samples, or, feature-major, of
// features.
template <typename T>
struct Rows {
  T* data = nullptr;
  int64_t count = 0;
  int64_t length = 0;
  int64_t pitch = 0;
  bool feature_major = false;
};

// Empty where neither samples nor features are adjacent.
template <typename T>
Rows<T> rows_in_place(const BasicImageView<T>& v) {
  const auto fits = [](int64_t count, int64_t length, int64_t step, int64_t pitch) {
    return (length == 1 || step == 1) && (count == 1 || (pitch >= length && pitch <= kMaxSize));
  };
  // The pitch of a single row is not looked at, but has to be a valid one.
  if (fits(v.images, v.channels, v.channel_stride, v.image_stride)) {
    return {v.data, v.images, v.channels, v.images == 1 ? v.channels : v.image_stride, false};
  }
  if (fits(v.channels, v.images, v.image_stride, v.channel_stride)) {
    return {v.data, v.channels, v.images, v.channels == 1 ? v.images : v.channel_stride, true};
  }
  return {};
}

// Rows of a copy, in the order that is nearer to the view's.
template <typename T>
Rows<float> rows_of_copy(const BasicImageView<T>& v, float* data) {
  const bool feature_major = std::abs(v.image_stride) < std::abs(v.channel_stride);
  if (feature_major) return {data, v.channels, v.images, v.images, true};
  return {data, v.images, v.channels, v.channels, false};
}

// The elements of a view, walked as rows are.
template <typename T>
struct Strided {
  Strided(const BasicImageView<T>& v, bool feature_major)
      : data(v.data),
        row_step(feature_major ? v.channel_stride : v.image_stride),
        step(feature_major ? v.image_stride : v.channel_stride) {}
  T& at(int64_t row, int64_t i) const { return data[row * row_step + i * step]; }

  T* data;
  int64_t row_step;
  int64_t step;
};

// A tensor that is read, copied where that is needed.
class Input {
 public:
  Input(const DenseContext& context, const ConstImageView& view, const ConstImageView& gate) {
    if (gate.empty()) rows_ = rows_in_place(view);
    if (rows_.data != nullptr) return;
    copy_ = context.scratch.take(view.images * view.channels);
    const Rows<float> rows = rows_of_copy(view, copy_.data());
    const Strided<const float> from(view, rows.feature_major);
    const Strided<const float> gates(gate, rows.feature_major);
    share(context.pool, rows.count, rows.count * rows.length, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        float* const to = rows.data + row * rows.pitch;
        for (int64_t i = 0; i < rows.length; ++i) {
          const bool closed = gates.data != nullptr && gates.at(row, i) <= 0.0F;
          to[i] = closed ? 0.0F : from.at(row, i);
        }
      }
    });
    rows_ = {rows.data, rows.count, rows.length, rows.pitch, rows.feature_major};
  }

  const Rows<const float>& rows() const { return rows_; }

 private:
  Rows<const float> rows_;
  ScratchPool::Buffer copy_;
};

// A tensor that is written, through a copy where that is needed.
class Output {
 public:
  Output(const DenseContext& context, const ImageView& view)
      : context_(context), view_(view), rows_(rows_in_place(view)) {
    if (rows_.data != nullptr) return;
    copy_ = context.scratch.take(view.images * view.channels);
    rows_ = rows_of_copy(view, copy_.data());
  }

  const Rows<float>& rows() const { return rows_; }

  // Adds the bias and applies the ReLU on the way to the caller's tensor.
  void finish(std::span<const float> bias, bool relu) const {
    if (copy_.data() == nullptr && bias.empty() && !relu) return;
    const Strided<float> to(view_, rows_.feature_major);
    share(context_.pool, rows_.count, rows_.count * rows_.length, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const float* const from = rows_.data + row * rows_.pitch;
        for (int64_t i = 0; i < rows_.length; ++i) {
          float value = from[i];
          if (!bias.empty()) value += bias[rows_.feature_major ? row : i];
          to.at(row, i) = relu && value < 0.0F ? 0.0F : value;
        }
      }
    });
  }

 private:
  const DenseContext& context_;
  const ImageView& view_;
  Rows<float> rows_;
  ScratchPool::Buffer copy_;
};

ScratchPool::Buffer scatter(const DenseContext& context, std::span<const float> values) {
  const Mask& mask = context.mask;
  ScratchPool::Buffer weight = context.scratch.take(mask.rows() * mask.cols());
  share(context.pool, mask.rows(), mask.rows() * mask.cols(), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      float* const to = weight.data() + row * mask.cols();
      std::fill_n(to, mask.cols(), 0.0F);
      for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
        to[mask.columns()[i]] = values[i];
      }
    }
  });
  return weight;
}

void gather(const DenseContext& context, const float* weight, std::span<float> values) {
  const Mask& mask = context.mask;
  share(context.pool, mask.rows(), 4 * mask.nnz(), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float* const from = weight + row * mask.cols();
      for (int64_t i = mask.row_begin()[row]; i < mask.row_begin()[row + 1]; ++i) {
        values[i] = from[mask.columns()[i]];
      }
    }
  });
}

// The caller's function sees no empty matrix.
void multiply(const DenseContext& context, Sgemm product) {
  if (product.m == 0 || product.n == 0) return;
  if (product.k == 0) {
    for (int64_t row = 0; row < product.m; ++row) {
      std::fill_n(product.c + row * product.ldc, product.n, 0.0F);
    }
    return;
  }
  // Below that, threads cost more than they do.
  constexpr int64_t kMinSharedProducts = 1'000'000;
  const bool alone = product.m * product.n * product.k < kMinSharedProducts;
  product.threads = alone ? 1 : context.pool.threads();
  context.sgemm(product);
}

// out = in W, or with `transposed` in W^T; W has the mask's shape.
void multiply_by_weight(const DenseContext& context, const Rows<const float>& in,
                        const float* weight, bool transposed, const Rows<float>& out) {
  const int64_t from = transposed ? context.mask.cols() : context.mask.rows();
  const int64_t to = transposed ? context.mask.rows() : context.mask.cols();
  const int64_t batch = out.feature_major ? out.length : out.count;
  Sgemm product = {.k = from, .c = out.data, .ldc = out.pitch};
  if (out.feature_major) {  // out^T = W^T in^T
    product.transpose_a = !transposed;
    product.transpose_b = !in.feature_major;
    product.m = to;
    product.n = batch;
    product.a = weight;
    product.lda = context.mask.cols();
    product.b = in.data;
    product.ldb = in.pitch;
  } else {
    product.transpose_a = in.feature_major;
    product.transpose_b = transposed;
    product.m = batch;
    product.n = to;
    product.a = in.data;
    product.lda = in.pitch;
    product.b = weight;
    product.ldb = context.mask.cols();
  }
  multiply(context, product);
}

// dW = dY^T X
void multiply_gradients(const DenseContext& context, const Rows<const float>& dy,
                        const Rows<const float>& x, float* d_weight) {
  multiply(context, {.transpose_a = !dy.feature_major,
                     .transpose_b = x.feature_major,
                     .m = context.mask.rows(),
                     .n = context.mask.cols(),
                     .k = dy.feature_major ? dy.length : dy.count,
                     .a = dy.data,
                     .lda = dy.pitch,
                     .b = x.data,
                     .ldb = x.pitch,
                     .c = d_weight,
                     .ldc = context.mask.cols()});
}

void sum_samples(const DenseContext& context, const Rows<const float>& dy, std::span<float> sums) {
  share(context.pool, std::ssize(sums), dy.count * dy.length, [&](int64_t first, int64_t last) {
    if (dy.feature_major) {
      for (int64_t row = first; row < last; ++row) {
        const float* const from = dy.data + row * dy.pitch;
        float sum = 0.0F;
        for (int64_t i = 0; i < dy.length; ++i) sum += from[i];
        sums[row] = sum;
      }
    } else {
      std::fill(sums.begin() + first, sums.begin() + last, 0.0F);
      for (int64_t row = 0; row < dy.count; ++row) {
        const float* const from = dy.data + row * dy.pitch;
        for (int64_t i = first; i < last; ++i) sums[i] += from[i];
      }
    }
  });
}

}  // namespace

std::string dense_problem(const SgemmFunction& sgemm, const LayerSpec& spec, bool linear,
                          int64_t batch) {
  if (!sgemm) return "the runtime has no sgemm";
  if (!linear) return "only linear layers have it";
  const Mask& mask = spec.mask;
  if (std::max({mask.rows(), mask.cols(), batch}) > kMaxSize) {
    return fmt::format("a {} weight and batch {}, expected sizes up to 2^31-1",
                       to_text(mask.shape()), batch);
  }
  return {};
}

void run_dense_forward(const DenseContext& context, const PassTensors& tensors) {
  const ScratchPool::Buffer weight = scatter(context, tensors.values);
  const Input x(context, tensors.x, {});
  const Output y(context, tensors.y_or_dx);
  multiply_by_weight(context, x.rows(), weight.data(), true, y.rows());
  y.finish(tensors.bias, context.relu);
}

void run_dense_backward(const DenseContext& context, const PassTensors& tensors) {
  const Input dy(context, tensors.dy, tensors.gate);
  if (!tensors.d_bias.empty()) sum_samples(context, dy.rows(), tensors.d_bias);
  if (!tensors.y_or_dx.empty()) {
    const ScratchPool::Buffer weight = scatter(context, tensors.values);
    const Output dx(context, tensors.y_or_dx);
    multiply_by_weight(context, dy.rows(), weight.data(), false, dx.rows());
    dx.finish({}, false);
  }
  if (tensors.d_values.empty()) return;
  const Input x(context, tensors.x, {});
  const ScratchPool::Buffer d_weight =
      context.scratch.take(context.mask.rows() * context.mask.cols());
  multiply_gradients(context, dy.rows(), x.rows(), d_weight.data());
  gather(context, d_weight.data(), tensors.d_values);
}

}  // namespace sparsejit

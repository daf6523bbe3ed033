#include "verify/chunked_pair.h"

#include <algorithm>
#include <numeric>

namespace cudaagent::verify {
namespace {

constexpr int64_t kFewestElements = 32 << 10;
constexpr int64_t kMostElements = 8 << 20;
// On a CPU the temporaries of a chunk should stay in its caches.
constexpr int64_t kMostElementsCpu = 256 << 10;

}  // namespace

ChunkedPair::ChunkedPair(const at::Tensor& got, const at::Tensor& expected)
    : numel_(expected.numel()) {
  order_.resize(expected.dim());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return expected.stride(a) > expected.stride(b); });
  at::Tensor permuted_got = got.permute(order_);
  at::Tensor permuted_expected = expected.permute(order_);
  flat_ = permuted_got.is_contiguous() && permuted_expected.is_contiguous();
  if (!flat_ && !order_.empty()) {  // the longest dimension first, so that rows are short
    auto longest = std::max_element(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      return expected.size(a) < expected.size(b);
    });
    std::rotate(order_.begin(), longest, longest + 1);
    permuted_got = got.permute(order_);
    permuted_expected = expected.permute(order_);
  }
  walked_sizes_ = permuted_expected.sizes().vec();
  if (numel_ == 0) return;

  const int64_t most = expected.is_cpu() ? kMostElementsCpu : kMostElements;
  const int64_t elements = std::clamp(numel_ / 32, kFewestElements, most);
  if (flat_) {
    got_ = permuted_got.view({-1});
    expected_ = permuted_expected.view({-1});
    step_ = elements;
    chunks_ = (numel_ + step_ - 1) / step_;
  } else {
    got_ = permuted_got;
    expected_ = permuted_expected;
    row_ = numel_ / walked_sizes_[0];
    step_ = std::max<int64_t>(1, elements / row_);
    chunks_ = (walked_sizes_[0] + step_ - 1) / step_;
  }
}

ChunkedPair::Chunk ChunkedPair::At(int64_t chunk) const {
  const int64_t start = chunk * step_;
  const int64_t length = std::min(step_, got_.size(0) - start);
  return {got_.narrow(0, start, length).reshape({-1}),
          expected_.narrow(0, start, length).reshape({-1}), start * row_};
}

std::vector<int64_t> ChunkedPair::IndexOf(int64_t position) const {
  std::vector<int64_t> index(order_.size());
  for (size_t i = order_.size(); i-- > 0;) {
    index[order_[i]] = position % walked_sizes_[i];
    position /= walked_sizes_[i];
  }
  return index;
}

at::Tensor ChunkedPair::InShape(const at::Tensor& walked) const {
  std::vector<int64_t> inverse(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) inverse[order_[i]] = static_cast<int64_t>(i);
  return walked.view(walked_sizes_).permute(inverse);
}

}  // namespace cudaagent::verify

// The device's ceilings, measured as candidates are.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "device/gpu/graph.h"
#include "measure/measure.h"
#include "reference/precision.h"
#include "util/time.h"
#include "worker/jobs.h"

namespace cudaagent::worker {
namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;
constexpr int64_t kMatrix = 8192;
constexpr double kMatrixFlops = 2.0 * kMatrix * kMatrix * kMatrix;

// Units of work per second of the contender's median run.
Result<double> Rate(double work, const std::function<void()>& run) {
  measure::Contender contender;
  contender.name = "ceiling";
  contender.run = [&run]() -> Checked<void> {
    run();
    return {};
  };
  EvalOptions options;
  options.max_iterations = 30;
  options.time_limit_s = 3;
  auto measured = measure::MeasureInterleaved({contender}, {}, options);
  if (!measured) return Fail(ErrorCode::kEnvironment, measured.error().message);
  if (measured->front().span_ns.empty()) {
    return Fail(ErrorCode::kEnvironment, "The timing gave no samples.");
  }
  return work / (measure::Summarise(measured->front()).median_ms * 1e-3);
}

Result<double> MemoryRate() {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(at::kCUDA);
  const at::Tensor from = at::ones({kGibibyte / 4}, options);
  at::Tensor to = at::empty_like(from);
  double best = 0;
  for (const auto& [bytes, run] : std::vector<std::pair<double, std::function<void()>>>{
           {1.0 * kGibibyte, [&] { from.sum(); }},
           {2.0 * kGibibyte, [&] { to.copy_(from); }},
           {1.0 * kGibibyte, [&] { to.fill_(1); }}}) {
    auto rate = Rate(bytes, run);
    if (!rate) return rate;
    best = std::max(best, *rate);
  }
  return best;
}

Result<double> MatrixRate(at::ScalarType type, Precision precision) {
  const reference::PrecisionScope scope(precision);
  const auto options = at::TensorOptions().dtype(type).device(at::kCUDA);
  const at::Tensor a = at::randn({kMatrix, kMatrix}, options);
  const at::Tensor b = at::randn({kMatrix, kMatrix}, options);
  at::Tensor out = at::empty({kMatrix, kMatrix}, options);
  return Rate(kMatrixFlops, [&] { at::mm_out(out, a, b); });
}

Result<Ceilings> Measure() {
  const at::NoGradGuard no_grad;
  Ceilings ceilings;
  auto bytes = MemoryRate();
  if (!bytes) return tl::unexpected(bytes.error());
  ceilings.bytes_per_s = *bytes;
  struct Product {
    double* rate;
    at::ScalarType type;
    Precision precision;
  };
  for (const Product& product : {Product{&ceilings.fp32_flops, at::kFloat, Precision::kFp32},
                                 Product{&ceilings.tf32_flops, at::kFloat, Precision::kTf32},
                                 Product{&ceilings.fp16_flops, at::kHalf, Precision::kTf32},
                                 Product{&ceilings.bf16_flops, at::kBFloat16, Precision::kTf32}}) {
    auto rate = MatrixRate(product.type, product.precision);
    if (!rate) return tl::unexpected(rate.error());
    *product.rate = *rate;
  }
  ceilings.date = util::NowIso8601();
  return ceilings;
}

}  // namespace

protocol::FromChild RunCalibrateJob(Session& session, Channel& channel) {
  if (!session.device().is_gpu()) {
    return protocol::ErrorReply{
        {ErrorCode::kUsage,
         "The CPU device has nothing to calibrate: its ceilings are its model's."}};
  }
  channel.EnterStage("calibrate");
  try {
    auto ceilings = Measure();
    device::gpu::EmptyCache();
    if (ceilings) return protocol::CalibrationReply{std::move(*ceilings)};
    return protocol::ErrorReply{ceilings.error()};
  } catch (const c10::Error& error) {
    return protocol::ErrorReply{
        {ErrorCode::kEnvironment, fmt::format("The device's ceilings could not be measured: {}",
                                              error.what_without_backtrace())}};
  }
}

}  // namespace cudaagent::worker

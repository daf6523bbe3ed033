#include <spdlog/fmt/fmt.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "device/ptx/gpu_model.h"
#include "util/text.h"
#include "worker/op_recorder.h"
#include "worker/timing.h"

namespace cudaagent::worker {
namespace {

using device::ptx::GpuModel;

bool IsConvolution(std::string_view op) {
  return util::StartsWith(op, "aten::conv") || util::StartsWith(op, "aten::cudnn_conv");
}

// Operators whose work runs on tensor cores where the precision policy and the type allow it.
bool IsMatrixProduct(std::string_view op) {
  constexpr std::array<std::string_view, 16> kNames = {
      "aten::linear", "aten::matmul",   "aten::mm",       "aten::bmm",
      "aten::addmm",  "aten::mv",       "aten::baddbmm",  "aten::addbmm",
      "aten::einsum", "aten::addmv",    "aten::dot",      "aten::lstm",
      "aten::gru",    "aten::rnn_tanh", "aten::rnn_relu", "aten::bilinear"};
  for (std::string_view name : kNames) {
    if (op == name) return true;
  }
  return IsConvolution(op) || op.find("scaled_dot_product") != std::string_view::npos;
}

int ElementBytes(const std::string& dtype) {
  if (dtype == "float16" || dtype == "bfloat16") return 2;
  return dtype == "float64" ? 8 : 4;
}

double OpUs(const RecordedOp& op, const GpuModel& model, Precision precision) {
  const graph::Work work = graph::EstimateNode(op.node, op.tensors);
  const int64_t bytes = work.bytes_read + work.bytes_written;
  if (bytes == 0 && work.flops == 0) return 0;
  const bool conv = IsConvolution(op.node.op);
  const bool tf32 =
      precision == Precision::kTf32 || (precision == Precision::kTorchDefault && conv);
  const int element_bytes = op.node.outputs.empty() ? 4 : ElementBytes(op.node.outputs[0].dtype);
  return device::ptx::EstimateOpUs(model, bytes, work.flops, IsMatrixProduct(op.node.op), tf32,
                                   element_bytes);
}

// Sum over the operators, and how many of them do work.
struct OpsCost {
  double us = 0;
  int launches = 0;
};
OpsCost CostOf(const OpRecorder& recorder, const GpuModel& model, Precision precision) {
  OpsCost cost;
  for (const RecordedOp& op : recorder.ops()) {
    const double us = OpUs(op, model, precision);
    if (us <= 0) continue;
    cost.us += us;
    ++cost.launches;
  }
  return cost;
}

Timing Estimated(double us, int launches) {
  Timing timing;
  timing.median_ms = timing.ci_low_ms = timing.ci_high_ms = us / 1e3;
  timing.samples = 1;
  timing.kernels = launches;
  timing.clock = "estimated";
  return timing;
}

}  // namespace

Result<Checked<void>> EstimateOnCpu(Session& session, device::PlanRunner& runner,
                                    const EvalOptions& options, Evaluation* evaluation) {
  const auto model = device::ptx::FindGpuModel(options.model_gpu);
  if (!model) {
    return Fail(ErrorCode::kUsage,
                fmt::format("There is no model of a GPU \"{}\" to estimate with; there are {}.",
                            options.model_gpu, device::ptx::GpuModelKeys()));
  }
  const Precision precision = session.spec().precision;
  device::Device& device = session.device();

  (void)device.TakeCounters();
  OpsCost ops;
  {
    const OpRecorder recorder;
    auto ran = runner.Run();
    if (!ran) return ran;
    ops = CostOf(recorder, *model, precision);
  }
  evaluation->counters = device.TakeCounters();
  double kernels_us = 0;
  int64_t launches = 0;
  for (const KernelCounters& kernel : evaluation->counters) {
    kernels_us += kernel.estimated_us;
    launches += kernel.launches;
  }

  // Eager is costed by the operators it calls, with the same rules as the candidate's op steps.
  auto inputs = session.reference().MakeInputs(0);
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  auto restored = session.reference().RestoreStatistics();
  if (!restored) return tl::unexpected<Error>(restored.error());
  OpsCost eager;
  {
    const OpRecorder recorder;
    auto outputs = session.reference().Forward(*inputs, precision);
    if (!outputs) return tl::unexpected<Error>(outputs.error());
    eager = CostOf(recorder, *model, precision);
  }

  const double candidate_us = kernels_us + ops.us;
  evaluation->estimated = true;
  evaluation->protocol.clock = "estimated";
  evaluation->candidate = Estimated(candidate_us, static_cast<int>(launches) + ops.launches);
  evaluation->eager = Estimated(eager.us, eager.launches);
  if (candidate_us > 0) {
    evaluation->own_kernel_share = kernels_us / candidate_us;
    const double ratio = eager.us / candidate_us;
    evaluation->speedup_eager = Speedup{ratio, ratio, ratio};
  }
  return Checked<void>();
}

}  // namespace cudaagent::worker

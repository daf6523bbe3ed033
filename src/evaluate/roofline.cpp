#include "evaluate/roofline.h"

#include <algorithm>

namespace cudaagent::evaluate {

double PeakFlops(const Ceilings& ceilings, const ProblemSpec& spec) {
  if (spec.dtype == "float16") return ceilings.fp16_flops;
  if (spec.dtype == "bfloat16") return ceilings.bf16_flops;
  // "torch-default" leaves TF32 to cuDNN: the higher ceiling holds for both.
  return spec.precision == Precision::kFp32 ? ceilings.fp32_flops : ceilings.tf32_flops;
}

void AddSol(const graph::Work& work, double peak_flops, double bytes_per_s,
            Evaluation* evaluation) {
  if (!evaluation->candidate || evaluation->estimated || evaluation->candidate->median_ms <= 0)
    return;
  if (!(peak_flops > 0) || !(bytes_per_s > 0)) return;
  const double bytes =
      static_cast<double>(work.bytes_read) + static_cast<double>(work.bytes_written);
  const double seconds = std::max(bytes / bytes_per_s, work.flops / peak_flops);
  if (!(seconds > 0)) return;
  evaluation->sol_ms = seconds * 1e3;
  evaluation->sol = *evaluation->sol_ms / evaluation->candidate->median_ms;
}

}  // namespace cudaagent::evaluate

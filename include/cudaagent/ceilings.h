// What a GPU was measured to do at its best: the roof over every kernel's time.
#pragma once

#include <string>

namespace cudaagent {

// 0 = not measured.
struct Ceilings {
  double bytes_per_s = 0;  // of device memory: the fastest of reading, copying and filling 1 GiB
  // Dense matrix products of 8192 x 8192 by torch.
  double fp32_flops = 0;  // per second, TF32 off
  double tf32_flops = 0;
  double fp16_flops = 0;
  double bf16_flops = 0;
  std::string date;  // ISO 8601 UTC
};

}  // namespace cudaagent

// What a named GPU could do at best: the CPU device's estimate, never a measurement.
//
// Ceilings are published figures of the boards (SMs, boost clock, memory bandwidth) except where a
// comment says what was measured. The estimate of one kernel is the largest of the times that its
// counted work needs at each ceiling, scaled by how many SMs the grid can fill, plus the launch
// latency.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cudaagent/evaluation.h"

namespace cudaagent::device::ptx {

struct GpuModel {
  std::string_view key;   // EvalOptions::model_gpu
  std::string_view name;  // "NVIDIA H200"
  std::string_view arch;  // what candidates are compiled for
  int sms = 0;
  double clock_ghz = 0;  // boost
  double dram_gb_s = 0;  // reachable by a copy kernel, about 90 % of the board's figure
  double l2_gb_s = 0;    // reachable out of the L2 cache
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int64_t shared_optin_bytes = 0;  // per block
  int64_t shared_sm_bytes = 0;     // per SM
  double fp32_tflops = 0;          // CUDA cores, fma counted as two
  double tf32_tflops = 0;          // dense tensor cores
  double half_tflops = 0;          // dense tensor cores, f16 and bf16
  double launch_us = 0;            // from one kernel's end to the next one's start in a stream
};

// The model of that key; std::nullopt where there is none.
std::optional<GpuModel> FindGpuModel(std::string_view key);

// Keys of all models, "h100, h200, ...".
std::string_view GpuModelKeys();

// What a kernel did, as counted.
struct KernelWork {
  uint64_t instructions = 0;                   // warp instructions
  uint64_t fp64 = 0, special = 0, matrix = 0;  // of these
  uint64_t sectors = 0;                        // 32 bytes each
  uint64_t footprint_bytes = 0;  // distinct memory at most touched: what must come from DRAM
  uint64_t shared_wavefronts = 0;
  uint64_t atomics = 0;  // lanes
  uint64_t blocks = 0;
  uint32_t threads_per_block = 0;
};
double EstimateKernelUs(const GpuModel& model, const KernelWork& work);

// An ATen operator: `bytes` moved, `flops` done, on tensor cores where `matmul` (tf32 for 4-byte
// elements where `tf32`, half for 2-byte ones).
double EstimateOpUs(const GpuModel& model, int64_t bytes, double flops, bool matmul,
                    bool tf32 = true, int element_bytes = 4);

}  // namespace cudaagent::device::ptx

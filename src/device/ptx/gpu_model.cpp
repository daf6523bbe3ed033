#include "device/ptx/gpu_model.h"

#include <algorithm>
#include <array>

namespace cudaagent::device::ptx {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int64_t kGB = 1'000'000'000;

// H200, H100 SXM: NVIDIA's data sheets (tensor figures without sparsity); 132 SMs, 227 KiB of
// shared memory per block (CUDA programming guide, compute capability 9.0). 4.3 TB/s of the
// H200's 4.8 were measured with a copy kernel on this project's test machine. A100 SXM 80 GB: data
// sheet, capability 8.0.
constexpr std::array<GpuModel, 3> kModels = {{
    {"h200", "NVIDIA H200", "sm_90a", 132, 1.755, 4300, 7000, 50 * kMiB, 141 * kGB, 227 * kKiB,
     228 * kKiB, 59.3, 494, 989, 2.5},
    {"h100", "NVIDIA H100 SXM", "sm_90a", 132, 1.755, 3000, 7000, 50 * kMiB, 80 * kGB, 227 * kKiB,
     228 * kKiB, 59.3, 494, 989, 2.5},
    {"a100", "NVIDIA A100 SXM 80GB", "sm_80", 108, 1.41, 1800, 4500, 40 * kMiB, 80 * kGB,
     163 * kKiB, 164 * kKiB, 19.5, 156, 312, 2.5},
}};

}  // namespace

std::optional<GpuModel> FindGpuModel(std::string_view key) {
  for (const GpuModel& model : kModels) {
    if (model.key == key) return model;
  }
  return std::nullopt;
}

std::string_view GpuModelKeys() { return "h200, h100, a100"; }

double EstimateKernelUs(const GpuModel& model, const KernelWork& work) {
  // Per SM and cycle: 4 schedulers issue one warp instruction each; fp64 runs at half that, special
  // functions at 16 lanes, matrix instructions at one per two cycles; shared memory delivers one
  // wavefront; the L1 serves 4 sectors; the L2 updates about one lane of an atomic.
  double sms = std::max(1.0, std::min<double>(model.sms, static_cast<double>(work.blocks)));
  // A block too small to fill four schedulers cannot issue at their full rate unless others join
  // it.
  double warps = std::max(1.0, work.threads_per_block / 32.0) *
                 std::max(1.0, static_cast<double>(work.blocks) / model.sms);
  double issue = std::min(4.0, std::max(1.0, warps / 2));
  double cycles = static_cast<double>(work.instructions) / issue;
  cycles = std::max(cycles, static_cast<double>(work.fp64) / 2);
  cycles = std::max(cycles, static_cast<double>(work.special) / 0.5);
  cycles = std::max(cycles, static_cast<double>(work.matrix) * 2);
  cycles = std::max(cycles, static_cast<double>(work.shared_wavefronts));
  cycles = std::max(cycles, static_cast<double>(work.sectors) / 4);
  cycles = std::max(cycles, static_cast<double>(work.atomics));
  double compute_us = cycles / sms / (model.clock_ghz * 1e3);
  double traffic = static_cast<double>(work.sectors) * 32;
  double dram = std::min(traffic, static_cast<double>(work.footprint_bytes));
  // One SM alone cannot draw the whole bandwidth: about a fiftieth of it.
  double share = std::min(1.0, sms / 50);
  double dram_us = dram / (model.dram_gb_s * 1e3 * share);
  double l2_us = traffic / (model.l2_gb_s * 1e3 * share);
  return std::max({compute_us, dram_us, l2_us}) + model.launch_us;
}

double EstimateOpUs(const GpuModel& model, int64_t bytes, double flops, bool matmul, bool tf32,
                    int element_bytes) {
  double tflops = model.fp32_tflops;
  if (matmul && element_bytes == 2) tflops = model.half_tflops;
  if (matmul && element_bytes == 4 && tf32) tflops = model.tf32_tflops;
  double memory_us = static_cast<double>(bytes) / (model.dram_gb_s * 1e3);
  // Libraries reach about 70 % of the tensor cores' figure on large products.
  double compute_us = flops / (tflops * 1e6 * (matmul ? 0.7 : 1.0));
  return std::max(memory_us, compute_us) + model.launch_us;
}

}  // namespace cudaagent::device::ptx

// The same kernels on a GPU and on the CPU device: integers agree bit for bit, floats within the
// bound each kernel states. CUDAAGENT_AGREEMENT_JSON names a file for the figures.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "device/gpu_bench.h"
#include "device/ptx/agreement_kernels.h"
#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

struct Outputs {
  std::vector<float> y;
  std::vector<int> z;
};

Outputs OnCpu(const AgreementKernel& kernel) {
  Bench bench(CompileToPtx(AgreementSource(kernel)));
  Buffer<float> x{"x", AgreementFloats(), false},
      y{"y", std::vector<float>(kAgreementElements), true};
  Buffer<int> n{"n", AgreementIntegers(), false},
      z{"z", std::vector<int>(kAgreementElements), true};
  bench.With(x).With(n).With(y).With(z);
  EXPECT_EQ(bench.Say("k", {1, 1, 1}, {kAgreementThreads, 1, 1}), "ok") << kernel.name;
  return {y.data, z.data};
}

Outputs OnGpu(const AgreementKernel& kernel, GpuBench& gpu, const std::string& folder) {
  std::vector<float> floats = AgreementFloats();
  std::vector<int> integers = AgreementIntegers();
  const int64_t size = static_cast<int64_t>(kAgreementElements);
  at::Tensor x = at::from_blob(floats.data(), {size}, at::kFloat).to(gpu.options().device());
  at::Tensor n = at::from_blob(integers.data(), {size}, at::kInt).to(gpu.options().device());
  at::Tensor y = at::zeros({size}, gpu.options().dtype(at::kFloat));
  at::Tensor z = at::zeros({size}, gpu.options().dtype(at::kInt));
  Artifact artifact;
  artifact.cubin_path = folder + "/kernel.cubin";
  artifact.lowered["k"] = "k";
  std::ofstream(artifact.cubin_path, std::ios::binary)
      << CompileToCubin(AgreementSource(kernel), gpu.device->limits().arch);
  auto module = gpu.device->Load(artifact);
  if (!module) throw std::runtime_error(module.error().message);
  Launch launch;
  launch.kernel = "k";
  launch.block = {kAgreementThreads, 1, 1};
  const void* pointers[4] = {x.data_ptr(), n.data_ptr(), y.data_ptr(), z.data_ptr()};
  launch.params.resize(sizeof(pointers));
  std::memcpy(launch.params.data(), pointers, sizeof(pointers));
  if (auto ran = (*module)->Run(launch); !ran) throw std::runtime_error(ran.error().message);
  if (auto synced = gpu.device->Synchronize(); !synced)
    throw std::runtime_error(synced.error().message);
  at::Tensor host_y = y.cpu(), host_z = z.cpu();
  Outputs out;
  out.y.assign(host_y.data_ptr<float>(), host_y.data_ptr<float>() + size);
  out.z.assign(host_z.data_ptr<int>(), host_z.data_ptr<int>() + size);
  return out;
}

TEST(DeviceAgreementGpuTest, CpuDeviceAndGpuAgreeOnEveryKernel) {
  if (const std::string missing = GpuMissing(); !missing.empty()) GTEST_SKIP() << missing;
  GpuBench gpu;
  auto folder = util::TempDir::Create("cudaagent-agreement");
  ASSERT_TRUE(folder);
  std::string rows;
  for (const AgreementKernel& kernel : AgreementKernels()) {
    Outputs cpu = OnCpu(kernel), other = OnGpu(kernel, gpu, folder->path());
    size_t integers_apart = 0, outside = 0;
    double most_ulps = 0, most_apart = 0;
    for (size_t i = 0; i < kAgreementElements; ++i) {
      integers_apart += cpu.z[i] != other.z[i] ? 1u : 0u;
      double ulps = UlpsBetween(cpu.y[i], other.y[i]);
      double apart = std::fabs(static_cast<double>(cpu.y[i]) - static_cast<double>(other.y[i]));
      if (ulps == 0) continue;
      most_ulps = std::max(most_ulps, ulps);
      if (apart > most_apart || std::isnan(apart)) most_apart = apart;
      if (ulps > kernel.ulps && !(apart <= kernel.apart)) ++outside;
    }
    EXPECT_EQ(integers_apart, 0u) << kernel.name;
    EXPECT_EQ(outside, 0u) << kernel.name << ": up to " << most_ulps << " ulps, " << most_apart;
    char row[512];
    std::snprintf(row, sizeof(row),
                  "%s\n  {\"kernel\": \"%s\", \"integers_apart\": %zu, \"most_ulps\": %.0f, "
                  "\"most_apart\": %.3g, \"allowed_ulps\": %.0f, \"allowed_apart\": %.3g, "
                  "\"outside\": %zu, \"why\": \"%s\"}",
                  rows.empty() ? "" : ",", kernel.name, integers_apart, most_ulps,
                  std::isfinite(most_apart) ? most_apart : 1e30, kernel.ulps, kernel.apart, outside,
                  kernel.why);
    rows += row;
  }
  if (const char* path = std::getenv("CUDAAGENT_AGREEMENT_JSON")) {
    std::ofstream(path) << "{\"gpu\": \"" << gpu.device->stamp().name << "\", \"kernels\": ["
                        << rows << "]}\n";
  }
}

}  // namespace
}  // namespace cudaagent::device::ptx::test

#include "compile/cubin_reader.h"

#include <gtest/gtest.h>

#include "compile/compile_log.h"
#include "compile/pool_driver.h"

namespace cudaagent::compile {
namespace {

// A kernel with shared memory, spills and launch bounds.
protocol::CompileReply Example(PoolDriver& driver) {
  auto job = PoolDriver::Job(
      "__global__ void __launch_bounds__(64, 2) k(float* p, int n) {\n"
      "  __shared__ float s[64];\n  float local[40];\n"
      "  for (int i = 0; i < 40; ++i) local[(i * n) % 40] = p[i];\n"
      "  s[threadIdx.x] = local[n];\n  __syncthreads();\n  p[n] = s[63 - threadIdx.x] + local[n / "
      "2];\n}\n",
      {"k"});
  return driver.Run(job);
}

TEST(CubinReaderTest, ReadsWhatTheToolkitsOwnToolShows) {
  PoolDriver driver;
  const auto reply = Example(driver);
  ASSERT_TRUE(reply.ok) << reply.message;
  const auto kernels = ReadCubin(*util::ReadFile(reply.report.cubin_path));
  ASSERT_EQ(kernels.size(), 1u);
  const KernelResources& kernel = kernels.at("_Z1kPfi");
  EXPECT_GT(kernel.registers, 8);
  EXPECT_GE(kernel.local_bytes, 160);
  EXPECT_EQ(kernel.static_shared_bytes, 256);
  EXPECT_EQ(kernel.max_threads, 64);
}

TEST(CubinReaderTest, DamagedFilesGiveFewerKernelsAndNoCrash) {
  PoolDriver driver;
  const std::string cubin = *util::ReadFile(Example(driver).report.cubin_path);
  for (size_t size = 0; size < cubin.size(); size += 7) ReadCubin(cubin.substr(0, size));
  for (size_t at = 0; at < cubin.size(); ++at) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = cubin;
      damaged[at] = value;
      EXPECT_LE(ReadCubin(damaged).size(), 16u);
    }
  }
  EXPECT_TRUE(ReadCubin("").empty());
  EXPECT_TRUE(ReadCubin("\x7f"
                        "ELF")
                  .empty());
  EXPECT_TRUE(ReadCubin(std::string(4096, '\xff')).empty());
}

}  // namespace
}  // namespace cudaagent::compile

#include <gtest/gtest.h>

#include "device/gpu/diagnosis.h"
#include "device/gpu/driver_version.h"

namespace cudaagent::device::gpu {
namespace {

TEST(DiagnosisTest, PoisonsUnlessTheResultIsKnownToBeHarmless) {
  EXPECT_FALSE(Diagnose(CUDA_ERROR_INVALID_VALUE).poisons);
  EXPECT_FALSE(Diagnose(CUDA_ERROR_OUT_OF_MEMORY).poisons);
  EXPECT_FALSE(Diagnose(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES).poisons);
  EXPECT_FALSE(Diagnose(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE).poisons);
  EXPECT_TRUE(Diagnose(CUDA_ERROR_ILLEGAL_ADDRESS).poisons);
  EXPECT_TRUE(Diagnose(CUDA_ERROR_LAUNCH_FAILED).poisons);
  EXPECT_TRUE(Diagnose(CUDA_ERROR_ECC_UNCORRECTABLE).poisons);
  EXPECT_TRUE(Diagnose(CUDA_ERROR_UNKNOWN).poisons);
  EXPECT_TRUE(Diagnose(static_cast<CUresult>(123456)).poisons);
}

TEST(DiagnosisTest, MakesABrokenDeviceNobodysFault) {
  EXPECT_EQ(Diagnose(CUDA_ERROR_ECC_UNCORRECTABLE).verdict, Verdict::kInfraError);
  EXPECT_EQ(Diagnose(CUDA_ERROR_UNKNOWN).verdict, Verdict::kInfraError);
}

TEST(DiagnosisTest, SaysWhatAKernelDid) {
  Fault fault = Explain(CUDA_ERROR_ILLEGAL_ADDRESS, {"axpy<256>"});
  EXPECT_EQ(fault.verdict, Verdict::kOutOfBounds);
  EXPECT_EQ(fault.message,
            "Kernel \"axpy<256>\" accessed memory outside every allocation (CUDA error 700).");
  fault = Explain(CUDA_ERROR_MISALIGNED_ADDRESS, {"a", "b"});
  EXPECT_EQ(fault.verdict, Verdict::kDeviceFault);
  EXPECT_EQ(fault.message,
            "One of the kernels \"a\", \"b\" accessed an address that is not a multiple of the "
            "access's size (CUDA error 716).");
  fault = Explain(CUDA_ERROR_LAUNCH_TIMEOUT, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(fault.verdict, Verdict::kTimedOut);
  EXPECT_EQ(fault.message,
            "One of the kernels \"a\", \"b\", \"c\" and 2 more ran longer than the driver allows "
            "(CUDA error 702).");
  fault = Explain(CUDA_ERROR_ASSERT, {});
  EXPECT_EQ(fault.verdict, Verdict::kDeviceFault);
  EXPECT_EQ(fault.message, "An op of the plan failed an assertion (CUDA error 710).");
}

TEST(DriverVersionTest, ReadsTheKernelModulesLine) {
  EXPECT_EQ(ParseDriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                               "580.82.07  Release Build  (dvs-builder@U22)\nGCC version: 12.3\n"),
            "580.82.07");
  EXPECT_EQ(ParseDriverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat\n"),
            "535.161.08");
  EXPECT_EQ(ParseDriverVersion(""), "");
}

TEST(DiagnosisTest, SaysThatStrictGuardsMadeItAFault) {
  const Fault fault = Explain(CUDA_ERROR_ILLEGAL_ADDRESS, {"axpy"}, Guard::kStrict);
  EXPECT_EQ(fault.verdict, Verdict::kOutOfBounds);
  EXPECT_EQ(
      fault.message,
      "Kernel \"axpy\" accessed memory outside every allocation (CUDA error 700); strict guards "
      "were on: memory right past the end of every input, parameter, output and buffer is "
      "unmapped.");
  EXPECT_EQ(Explain(CUDA_ERROR_ASSERT, {"axpy"}, Guard::kStrict).message,
            "Kernel \"axpy\" failed an assertion (CUDA error 710).");
}

}  // namespace
}  // namespace cudaagent::device::gpu

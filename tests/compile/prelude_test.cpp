// What candidates take for granted must compile: the names nvcc has from the host's library, and
// the toolkit's headers in any order.
#include <gtest/gtest.h>

#include "compile/pool_driver.h"

namespace cudaagent::compile {
namespace {

void ExpectCompiles(PoolDriver& driver, const std::string& code,
                    const std::string& standard = "c++17") {
  auto job = PoolDriver::Job(code, {"k"});
  job.standard = standard;
  const auto reply = driver.Run(job);
  EXPECT_TRUE(reply.ok) << reply.message << "\n" << reply.report.log << "\n" << code;
}

TEST(PreludeTest, NamesOfTheHostsLibraryAreThereWithoutAnyInclude) {
  PoolDriver driver;
  for (const char* standard : {"c++17", "c++20"}) {
    ExpectCompiles(
        driver,
        "__global__ void k(float* p, int* q, double* d) {\n"
        "  constexpr float inf = INFINITY, nan_ = NAN, big = FLT_MAX, small = FLT_MIN, eps = "
        "FLT_EPSILON;\n"
        "  constexpr double dbig = DBL_MAX, deps = DBL_EPSILON, pi = M_PI, h = HUGE_VAL;\n"
        "  static_assert(inf > big && -inf < -big && nan_ != nan_ && h > dbig, \"\");\n"
        "  static_assert(INT_MAX == 2147483647 && INT_MIN < 0 && UINT_MAX == 4294967295u, \"\");\n"
        "  static_assert(LLONG_MAX == INT64_MAX && CHAR_BIT == 8 && UINT8_MAX == 255, \"\");\n"
        "  uint32_t a = 1; int64_t b = 2; uint8_t c = 3; size_t s = 4; uintptr_t u = 5; "
        "std::int16_t e = 6;\n"
        "  static_assert(std::numeric_limits<float>::infinity() == INFINITY, \"\");\n"
        "  static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX, \"\");\n"
        "  static_assert(std::numeric_limits<int>::max() == INT_MAX, \"\");\n"
        "  static_assert(std::numeric_limits<int>::min() == INT_MIN, \"\");\n"
        "  static_assert(std::numeric_limits<unsigned char>::max() == 255, \"\");\n"
        "  static_assert(std::numeric_limits<int64_t>::max() == INT64_MAX, \"\");\n"
        "  static_assert(std::numeric_limits<double>::digits == 53, \"\");\n"
        "  static_assert(std::max(1, 2) == 2 && std::min({3, 1, 2}) == 1 && std::clamp(5, 1, 3) == "
        "3, \"\");\n"
        "  static_assert(std::is_same_v<std::remove_cv_t<const int>, int>, \"\");\n"
        "  static_assert(std::is_floating_point<float>::value && !std::is_integral_v<float>, "
        "\"\");\n"
        "  static_assert(std::is_same<std::conditional_t<true, int, float>, int>::value, \"\");\n"
        "  static_assert(std::is_same_v<std::decay_t<const int (&)[3]>, const int*>, \"\");\n"
        "  static_assert(std::is_unsigned_v<unsigned> && std::is_signed_v<int>, \"\");\n"
        "  static_assert(std::make_index_sequence<4>::size() == 4, \"\");\n"
        "  static_assert(std::plus<>{}(1, 2) == 3 && std::plus<int>{}(1, 2) == 3, \"\");\n"
        "  p[0] = std::sqrt(p[1]) + std::exp(p[2]) + std::fabs(p[3]) + std::pow(p[4], 2) + "
        "std::fmax(p[5], p[6]);\n"
        "  p[1] = std::abs(p[1]) + sqrt(q[0]) + std::sqrt(4) + std::tanh(p[2]) + std::fma(p[0], "
        "p[1], p[2]);\n"
        "  d[0] = std::log(d[1]) + std::floor(d[2]) + pi + deps + small + eps;\n"
        "  q[0] = std::isnan(p[0]) + std::isinf(p[1]) + isfinite(p[2]) + a + b + c + s + u + e;\n"
        "  std::swap(p[0], p[1]); float m = std::move(p[0]); auto pr = std::make_pair(m, 1); p[2] "
        "= pr.first;\n"
        "  assert(q[0] >= 0); printf(\"%d\\n\", q[0]); std::memcpy(p, p + 4, 16);\n"
        "}\n",
        standard);
  }
}

TEST(PreludeTest, TheKernelModuleHoldsNothingOfThePrelude) {
  PoolDriver driver;
  const auto reply = driver.Run(
      "__global__ void k(float* p) { p[0] = std::max(p[1], std::numeric_limits<float>::lowest()); "
      "}",
      {"k"});
  ASSERT_TRUE(reply.ok);
  const auto ptx = util::ReadFile(reply.report.ptx_path);
  EXPECT_EQ(ptx->find(".global .align"), std::string::npos) << *ptx;
}

TEST(PreludeTest, StandardHeadersAreShims) {
  PoolDriver driver;
  std::string code;
  for (const char* header : {"cstdint",
                             "stdint.h",
                             "cmath",
                             "math.h",
                             "cstdio",
                             "stdio.h",
                             "cassert",
                             "assert.h",
                             "cfloat",
                             "float.h",
                             "climits",
                             "limits.h",
                             "limits",
                             "algorithm",
                             "type_traits",
                             "utility",
                             "cstring",
                             "string.h",
                             "cstddef",
                             "stddef.h",
                             "cstdlib",
                             "stdlib.h",
                             "functional",
                             "numeric",
                             "initializer_list",
                             "cuda.h",
                             "cuda_runtime.h",
                             "cuda_runtime_api.h",
                             "device_launch_parameters.h",
                             "vector_types.h",
                             "math_constants.h"}) {
    code += std::string("#include <") + header + ">\n";
  }
  ExpectCompiles(driver, code + "__global__ void k(float* p) { p[0] = CUDART_PI_F; }\n");
}

TEST(PreludeTest, HalfPrecisionAndTensorCoreHeadersWork) {
  PoolDriver driver;
  ExpectCompiles(
      driver,
      "#include <mma.h>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n"
      "#include <cuda_pipeline.h>\n"
      "__global__ void k(half* h, __nv_bfloat16* b, half2* h2) {\n"
      "  h[0] = __hadd(h[1], __float2half(1.f)); b[0] = __float2bfloat16(2.f);\n"
      "  h2[0] = __hmul2(h2[1], h2[2]);\n"
      "  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> "
      "a;\n"
      "  nvcuda::wmma::load_matrix_sync(a, h, 16);\n"
      "}\n");
}

TEST(PreludeTest, HeavyHeadersWorkTogetherWithThePrelude) {
  PoolDriver driver;
  ExpectCompiles(
      driver,
      "#include <cuda/std/cmath>\n#include <cuda/std/limits>\n#include <cuda/std/type_traits>\n"
      "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
      "#include <cuda/barrier>\n#include <cub/cub.cuh>\n#include <curand_kernel.h>\n"
      "#include <tuple>\n#include <array>\n#include <optional>\n#include <complex>\n"
      "namespace cg = cooperative_groups;\n"
      "__global__ void k(float* p) {\n"
      "  auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n"
      "  p[0] = cg::reduce(warp, p[threadIdx.x], cg::plus<float>());\n"
      "  using R = cub::BlockReduce<float, 128>;\n"
      "  __shared__ typename R::TempStorage storage;\n"
      "  p[1] = R(storage).Sum(p[threadIdx.x]);\n"
      "  std::array<int, 3> a{1, 2, 3}; auto t = std::make_tuple(1, 2.f); p[2] = a[1] + "
      "std::get<1>(t);\n"
      "  p[3] = INFINITY + cuda::std::numeric_limits<float>::max();\n"
      "  cg::this_grid().sync();\n"
      "}\n");
}

TEST(PreludeTest, PrecompiledHeadersGiveTheSameCode) {
  const std::string code =
      "#include <mma.h>\n#include <cooperative_groups.h>\n"
      "__global__ void k(float* p) { cooperative_groups::this_thread_block().sync(); p[0] = "
      "FLT_MAX; }\n";
  PoolDriver cold, warm;
  warm.pool().Warm();
  warm.FinishWarming();
  const auto first = cold.Run(code, {"k"}), second = warm.Run(code, {"k"});
  ASSERT_TRUE(first.ok && second.ok) << first.message << second.message;
  EXPECT_EQ(*util::ReadFile(first.report.ptx_path), *util::ReadFile(second.report.ptx_path));
  EXPECT_LT(second.report.seconds, first.report.seconds);
}

}  // namespace
}  // namespace cudaagent::compile

// Matrix instructions, against products computed on the host. The kernels place elements as PTX
// documents it (fragments of mma), not as the device does. Elements are small integers, so that
// every sum is exact and an element in a wrong place shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

using testing::HasSubstr;
using testing::StartsWith;

std::vector<float> Integers(size_t n, unsigned seed, int most) {
  std::mt19937 random(seed);
  std::vector<float> v(n);
  for (float& x : v)
    x = static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most);
  return v;
}

// D = A B + C, row-major.
std::vector<float> Product(const std::vector<float>& a, const std::vector<float>& b,
                           const std::vector<float>& c, int m, int n, int k) {
  std::vector<float> d(static_cast<size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = c[i * n + j];
      for (int x = 0; x < k; ++x) sum += static_cast<double>(a[i * k + x]) * b[x * n + j];
      d[i * n + j] = static_cast<float>(sum);
    }
  }
  return d;
}

// A kernel of one warp that does one mma. `pack`: elements per register.
std::string MmaKernel(const std::string& opcode, const std::string& type, int m, int k, int pack,
                      const std::string& accumulator) {
  int a = m * k / 32 / pack, b = 8 * k / 32 / pack;
  bool half = accumulator == "__half", wide = type == "double";
  int c = half ? m * 8 / 64 : m * 8 / 32;
  std::string letter = wide ? "d" : accumulator == "float" ? "f" : "r";
  std::string text, outputs, inputs;
  auto list = [](int from, int count) {
    std::string s;
    for (int i = 0; i < count; ++i) s += (i ? ",%" : "%") + std::to_string(from + i);
    return s;
  };
  for (int i = 0; i < c; ++i)
    outputs += std::string(i ? "," : "") + "\"=" + letter + "\"(D[" + std::to_string(i) + "])";
  for (int i = 0; i < a; ++i)
    inputs +=
        std::string(i ? "," : "") + (wide ? "\"d\"" : "\"r\"") + "(A[" + std::to_string(i) + "])";
  for (int i = 0; i < b; ++i)
    inputs += std::string(",") + (wide ? "\"d\"" : "\"r\"") + "(B[" + std::to_string(i) + "])";
  for (int i = 0; i < c; ++i) inputs += ",\"" + letter + "\"(C[" + std::to_string(i) + "])";
  std::string reg = wide ? "double" : "unsigned", acc = half ? "unsigned" : accumulator;
  return R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define K )" +
         std::to_string(k) + "\n#define M " + std::to_string(m) + "\n#define P " +
         std::to_string(pack) + "\ntypedef " + type + " T; typedef " + accumulator + R"( S;
extern "C" __global__ void one(const float* a, const float* b, const float* c, float* d) {
  int g = threadIdx.x >> 2, t = threadIdx.x & 3;
  )" + reg +
         " A[" + std::to_string(a) + "], B[" + std::to_string(b) + "]; " + acc + " C[" +
         std::to_string(c) + "], D[" + std::to_string(c) + R"(];
  constexpr int NA = M * K / 32, NB = 8 * K / 32, NC = M * 8 / 32;
  for (int i = 0; i < NA; ++i) {
    int r = i / P;  // register
    int row = g + (M == 16 && (r & 1) ? 8 : 0);
    int col = t * P + i % P + (M == 16 ? r / 2 : r) * 4 * P;
    ((T*)A)[i] = T(a[row * K + col]);
  }
  for (int i = 0; i < NB; ++i) ((T*)B)[i] = T(b[(t * P + i % P + i / P * 4 * P) * 8 + g]);
  for (int i = 0; i < NC; ++i) ((S*)C)[i] = S(c[(g + (i >= 2 ? 8 : 0)) * 8 + t * 2 + (i & 1)]);
  asm volatile(")" +
         opcode + " {" + list(0, c) + "}, {" + list(c, a) + "}, {" + list(c + a, b) + "}, {" +
         list(c + a + b, c) + "};\" : " + outputs + " : " + inputs + R"();
  for (int i = 0; i < NC; ++i) d[(g + (i >= 2 ? 8 : 0)) * 8 + t * 2 + (i & 1)] = float(((S*)D)[i]);
})";
}

struct MmaCase {
  const char* opcode;
  const char* type;
  int m, k, pack;
  const char* accumulator;
  bool negative = true;
};
class PtxMma : public testing::TestWithParam<MmaCase> {};

TEST_P(PtxMma, MultipliesFragmentsLaidOutAsDocumented) {
  REQUIRE_NVRTC();
  MmaCase p = GetParam();
  std::string ptx = CompileToPtx(MmaKernel(p.opcode, p.type, p.m, p.k, p.pack, p.accumulator));
  for (const Executor* executor : {&BestExecutor(), &BaselineExecutor()}) {
    Bench bench(ptx, *executor);
    size_t m = static_cast<size_t>(p.m), k = static_cast<size_t>(p.k);
    Buffer<float> a{"a", Integers(m * k, 1, 7), false}, b{"b", Integers(k * 8, 2, 7), false},
        c{"c", Integers(m * 8, 3, 50), false}, d{"d", std::vector<float>(m * 8), true, false};
    if (!p.negative) {
      for (float& x : a.data) x = std::fabs(x);
      for (float& x : b.data) x = std::fabs(x);
    }
    bench.With(a).With(b).With(c).With(d);
    ASSERT_EQ(bench.Say("one", {1, 1, 1}, {32, 1, 1}), "ok");
    EXPECT_EQ(d.data, Product(a.data, b.data, c.data, p.m, 8, p.k));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PtxMma,
    testing::Values(
        MmaCase{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "__half", 16, 16, 2, "float"},
        MmaCase{"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "__half", 16, 16, 2, "__half"},
        MmaCase{"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "__half", 16, 8, 2, "float"},
        MmaCase{"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "__half", 16, 8, 2, "__half"},
        MmaCase{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "__nv_bfloat16", 16, 16, 2,
                "float"},
        MmaCase{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "__nv_bfloat16", 16, 8, 2,
                "float"},
        MmaCase{"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "float", 16, 4, 1, "float"},
        MmaCase{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "float", 16, 8, 1, "float"},
        MmaCase{"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "signed char", 8, 16, 4, "int"},
        MmaCase{"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "signed char", 16, 16, 4, "int"},
        MmaCase{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "signed char", 16, 32, 4, "int"},
        MmaCase{"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32", "unsigned char", 16,
                32, 4, "int", false},
        MmaCase{"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "double", 8, 4, 1, "double"},
        MmaCase{"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "double", 16, 8, 1, "double"}));

TEST(PtxMatrix, AddsProductsInSingleAndLooksAtNineteenBitsOfTf32) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(
      MmaKernel("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "float", 16, 8, 1, "float")));
  Buffer<float> a{"a", std::vector<float>(128), false}, b{"b", std::vector<float>(64), false},
      c{"c", std::vector<float>(128, 0.25f), false}, d{"d", std::vector<float>(128), true, false};
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : a.data) x = uniform(random);
  for (float& x : b.data) x = uniform(random);
  bench.With(a).With(b).With(c).With(d);
  ASSERT_EQ(bench.Say("one", {1, 1, 1}, {32, 1, 1}), "ok");
  auto cut = [](std::vector<float> v) {
    for (float& x : v) x = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000u);
    return v;
  };
  std::vector<float> want = Product(cut(a.data), cut(b.data), c.data, 16, 8, 8);
  for (size_t i = 0; i < 128; ++i) EXPECT_NEAR(d.data[i], want[i], 8 * 8.0e-8) << i;
}

struct WmmaCase {
  const char* in;
  const char* out;
  int m, n, k;
  bool a_column, b_column;
};
class PtxWmma : public testing::TestWithParam<WmmaCase> {};

std::vector<float> Transposed(const std::vector<float>& v, int rows, int columns) {
  std::vector<float> t(v.size());
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) t[c * rows + r] = v[r * columns + c];
  return t;
}

TEST_P(PtxWmma, MultipliesTilesInEveryLayout) {
  REQUIRE_NVRTC();
  WmmaCase p = GetParam();
  std::string in = p.in;
  // The kernel converts from float, so that one test serves every type.
  std::string source = R"(
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
typedef )" + std::string(in == "tf32" ? "float" : p.in) +
                       " T; typedef " + std::string(in == "tf32" ? "wmma::precision::tf32" : p.in) +
                       " F; typedef " + p.out + " S;\n#define M " + std::to_string(p.m) +
                       "\n#define N " + std::to_string(p.n) + "\n#define K " + std::to_string(p.k) +
                       "\n#define LA wmma::" + (p.a_column ? "col_major" : "row_major") +
                       "\n#define LB wmma::" + (p.b_column ? "col_major" : "row_major") + R"(
extern "C" __global__ void one(const float* a, const float* b, const float* c, float* d) {
  __shared__ alignas(128) T ta[M * K], tb[K * N];
  __shared__ alignas(128) S tc[M * N];
  for (int i = threadIdx.x; i < M * K; i += 32) ta[i] = T(a[i]);
  for (int i = threadIdx.x; i < K * N; i += 32) tb[i] = T(b[i]);
  for (int i = threadIdx.x; i < M * N; i += 32) tc[i] = S(c[i]);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, M, N, K, F, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, F, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, S> fc;
  wmma::load_matrix_sync(fa, ta, )" +
                       std::string(p.a_column ? "M" : "K") + R"();
  wmma::load_matrix_sync(fb, tb, )" +
                       std::string(p.b_column ? "K" : "N") + R"();
  wmma::load_matrix_sync(fc, tc, N, wmma::mem_row_major);
  for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = fa.x[i] + fa.x[i];
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(tc, fc, M, wmma::mem_col_major);
  __syncwarp();
  for (int i = threadIdx.x; i < M * N; i += 32) d[i] = float(tc[i]);
})";
  Bench bench(CompileToPtx(source));
  size_t m = static_cast<size_t>(p.m), n = static_cast<size_t>(p.n), k = static_cast<size_t>(p.k);
  std::vector<float> a = Integers(m * k, 1, 5), b = Integers(k * n, 2, 5),
                     c = Integers(m * n, 3, 50);
  if (in == "unsigned char") {
    for (float& x : a) x = std::fabs(x);
    for (float& x : b) x = std::fabs(x);
  }
  Buffer<float> ba{"a", p.a_column ? Transposed(a, p.m, p.k) : a, false},
      bb{"b", p.b_column ? Transposed(b, p.k, p.n) : b, false}, bc{"c", c, false},
      bd{"d", std::vector<float>(m * n), true, false};
  bench.With(ba).With(bb).With(bc).With(bd);
  ASSERT_EQ(bench.Say("one", {1, 1, 1}, {32, 1, 1}), "ok");
  for (float& x : a) x *= 2;
  EXPECT_EQ(bd.data, Transposed(Product(a, b, c, p.m, p.n, p.k), p.m, p.n));
  EXPECT_EQ(bench.Say("one", {1, 1, 1}, {31, 1, 1}).substr(0, 12), "device_fault");
}

INSTANTIATE_TEST_SUITE_P(
    All, PtxWmma,
    testing::Values(WmmaCase{"__half", "float", 16, 16, 16, false, false},
                    WmmaCase{"__half", "float", 16, 16, 16, true, true},
                    WmmaCase{"__half", "__half", 16, 16, 16, false, true},
                    WmmaCase{"__half", "float", 32, 8, 16, true, false},
                    WmmaCase{"__half", "float", 8, 32, 16, false, true},
                    WmmaCase{"__nv_bfloat16", "float", 16, 16, 16, false, true},
                    WmmaCase{"__nv_bfloat16", "float", 32, 8, 16, false, false},
                    WmmaCase{"tf32", "float", 16, 16, 8, false, false},
                    WmmaCase{"tf32", "float", 16, 16, 8, true, true},
                    WmmaCase{"signed char", "int", 16, 16, 16, false, true},
                    WmmaCase{"unsigned char", "int", 8, 32, 16, true, false},
                    WmmaCase{"double", "double", 8, 8, 4, false, false},
                    WmmaCase{"double", "double", 8, 8, 4, true, true}));

TEST(PtxMatrix, LoadsStoresAndTransposesEightByEightTiles) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void tiles(const unsigned short* in, unsigned* out) {
  __shared__ alignas(16) unsigned short s[32 * 8], r[32 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = in[i];
  __syncwarp();
  unsigned at = __cvta_generic_to_shared(s + threadIdx.x * 8), to = __cvta_generic_to_shared(r + threadIdx.x * 8);
  unsigned a, b, c, d, l = threadIdx.x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
  out[l] = a; out[32 + l] = b; out[64 + l] = c; out[96 + l] = d;
  asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
  out[128 + l] = a; out[160 + l] = b;
  asm volatile("{ .reg.b32 w; mov.u32 w, WARP_SZ; mad.lo.u32 w, w, 4, %1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [w]; }" : "=r"(c) : "r"(at));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(c));
  out[192 + l] = d;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" :: "r"(to), "r"(a), "r"(b));
  __syncwarp();
  if (l < 16) for (int i = 0; i < 4; ++i) out[224 + 4 * l + i] = ((unsigned*)(r + 8 * l))[i];
})"));
  Buffer<uint16_t> in{"in", std::vector<uint16_t>(256), false};
  for (size_t i = 0; i < 256; ++i) in.data[i] = static_cast<uint16_t>(1000 + i);
  Buffer<uint32_t> out{"out", std::vector<uint32_t>(288), true, false};
  bench.With(in).With(out);
  ASSERT_EQ(bench.Say("tiles", {1, 1, 1}, {32, 1, 1}), "ok");
  auto element = [&](int matrix, int row, int column) {
    return static_cast<uint32_t>(in.data[static_cast<size_t>(matrix * 64 + row * 8 + column)]);
  };
  for (int l = 0; l < 32; ++l) {
    int row = l / 4, column = l % 4 * 2;
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(out.data[32 * j + l], element(j, row, column) | element(j, row, column + 1) << 16);
    for (int j = 0; j < 2; ++j)
      EXPECT_EQ(out.data[128 + 32 * j + l], element(j, column, row) | element(j, column + 1, row)
                                                                          << 16);
    EXPECT_EQ(out.data[192 + l], element(1, column, row) | element(1, column + 1, row) << 16);
  }
  // Transposed when loaded and when stored: as it was.
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(out.data[224 + 4 * row + i],
                element(row / 8, row % 8, 2 * i) | element(row / 8, row % 8, 2 * i + 1) << 16);
}

TEST(PtxMatrix, NamesAShapeItDoesNotHave) {
  std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>;\n"
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, {%r1};\nret;\n}\n";
  EXPECT_EQ(Bench(ptx).Say("k", {1, 1, 1}, {32, 1, 1}),
            "unsupported: the CPU device does not know the PTX instruction "
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
}

}  // namespace
}  // namespace cudaagent::device::ptx::test

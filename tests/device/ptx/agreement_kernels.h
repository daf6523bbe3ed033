// Kernels that both devices must agree about, with how far. Each takes
// `(const float* x, const int* n, float* y, int* z)`: 4096 elements each, one block of 256 threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace cudaagent::device::ptx::test {

inline constexpr size_t kAgreementElements = 4096;
inline constexpr unsigned kAgreementThreads = 256;

struct AgreementKernel {
  const char* name;
  const char* body;  // "t" is the thread, "i" each element of its own
  double ulps = 0;   // of y; z agrees bit for bit
  double apart = 0;  // of y, absolute: enough where the ulps are not met
  const char* why = "exact";
  const char* head = "";  // includes, device functions
  bool whole = false;     // the body is not run per element
};

inline const std::vector<AgreementKernel>& AgreementKernels() {
  static const std::vector<AgreementKernel>& kernels = *new std::vector<AgreementKernel>{
      {"integers",
       "z[i] = n[i] * 7 - (n[i] << 3) + min(n[i], 9) - max(n[i], -n[i]) + (n[i] >> 2);"},
      {"integer division",
       "z[i] = n[i] / (i + 1) + n[i] % (i % 97 + 1) + (int)((unsigned)n[i] / 7u) + "
       "__mulhi(n[i], 123456789) + (int)((long long)n[i] * n[i] / 12345);"},
      {"bits",
       "z[i] = __popc(n[i]) + __clz(n[i]) * 3 + __brev(n[i]) + __ffs(n[i]) + "
       "__byte_perm(n[i], i, 0x3715) + __funnelshift_l(n[i], i, 13) + (n[i] >> 5 & 127);"},
      {"packed integers",
       "z[i] = __dp4a(n[i], i * 77, 5) + __sad(n[i], i, 3u) + __mul24(n[i], i) + "
       "__vadd4(n[i], i * 3) + __vmaxs2(n[i], i);"},
      {"conversions",
       "z[i] = (int)x[i] + __float2int_rn(x[i] * 100) + __float2uint_rz(fabsf(x[i]) * 1e5f) + "
       "(int)(signed char)n[i]; y[i] = (float)n[i] + (float)((double)x[i] * 3.1) + "
       "__uint2float_rz((unsigned)n[i]);"},
      {"halves",
       "__half a = x[i], b = x[(i + 7) % 4096]; y[i] = __half2float(__hfma(a, b, a)) + "
       "__half2float(__hdiv(a, b)); __half2 c = __floats2half2_rn(x[i], x[(i + 3) % 4096]); c = "
       "__hfma2(c, c, __hmul2(c, c)); z[i] = *(int*)&c;",
       1, 0, "hdiv goes through an approximate reciprocal", "#include <cuda_fp16.h>\n"},
      {"bfloats",
       "__nv_bfloat16 a = x[i], b = x[(i + 7) % 4096]; y[i] = __bfloat162float(__hfma(a, b, a)); "
       "__nv_bfloat162 c = __floats2bfloat162_rn(x[i], x[(i + 3) % 4096]); c = __hfma2(c, c, "
       "__hmul2(c, c)); z[i] = *(int*)&c;",
       0, 0, "exact", "#include <cuda_bf16.h>\n"},
      {"single arithmetic",
       "float a = x[i], b = x[(i + 1) % 4096]; y[i] = __fmaf_rn(a, b, 0.3f) + __fadd_rn(a, b) * "
       "__fmul_rz(a, b) - fmaxf(a, b) + __fmaf_rz(a, a, b);",
       2, 0, "the compiler behind PTX may fuse"},
      {"single division and root",
       "y[i] = __fdiv_rn(x[i], x[(i + 5) % 4096]); z[i] = "
       "__float_as_int(__fsqrt_rn(fabsf(x[i]))) ^ "
       "__float_as_int(__frcp_rn(x[i]));"},
      {"double arithmetic",
       "double a = x[i], b = x[(i + 1) % 4096]; y[i] = (float)(__fma_rn(a, b, 0.3) + "
       "__ddiv_rn(a, b) + __dsqrt_rn(fabs(a)));",
       1, 0, "the compiler behind PTX may fuse"},
      {"shuffles and votes",
       "int v = n[i] & 3; z[i] = __shfl_xor_sync(~0u, v, 5) + 10 * __shfl_up_sync(~0u, v, 3) + 100 "
       "* __shfl_sync(~0u, v, i * 7) + (int)__ballot_sync(~0u, v == 1) + "
       "(int)__match_any_sync(~0u, v) + __reduce_add_sync(~0u, v);"},
      {"tree reduction",
       "__shared__ float s[256]; s[t] = x[t] + x[t + 256]; __syncthreads(); for (int o = 128; o; o "
       ">>= 1) { if (t < o) s[t] = __fadd_rn(s[t], s[t + o]); __syncthreads(); } y[t] = s[0];",
       0, 0, "exact", "", true},
      {"scan",
       "__shared__ int s[2][256]; int in = 0; s[0][t] = n[t]; __syncthreads(); for (int o = 1; o < "
       "256; o <<= 1) { s[1 - in][t] = s[in][t] + (t >= o ? s[in][t - o] : 0); in = 1 - in; "
       "__syncthreads(); } z[t] = s[in][t];",
       0, 0, "exact", "", true},
      {"transpose",
       "__shared__ float s[32][33]; for (int i = t; i < 1024; i += 256) s[i / 32][i % 32] = x[i]; "
       "__syncthreads(); for (int i = t; i < 1024; i += 256) y[i] = s[i % 32][i / 32];",
       0, 0, "exact", "", true},
      {"histogram",
       "__shared__ int h[64]; if (t < 64) h[t] = 0; __syncthreads(); for (int i = t; i < 4096; i "
       "+= "
       "256) { atomicAdd(&h[n[i] & 63], 1); atomicMax(&z[64 + (n[i] & 7)], n[i]); } "
       "__syncthreads(); if (t < 64) z[t] = h[t];",
       0, 0, "exact", "", true},
      {"bitonic sort",
       "__shared__ float s[256]; s[t] = x[t]; for (int k = 2; k <= 256; k <<= 1) for (int j = k >> "
       "1; j; j >>= 1) { __syncthreads(); int o = t ^ j; if (o > t) { float a = s[t], b = s[o]; if "
       "((a > b) == ((t & k) == 0)) { s[t] = b; s[o] = a; } } } __syncthreads(); y[t] = s[t];",
       0, 0, "exact", "", true},
      {"asynchronous copies",
       "__shared__ alignas(16) float s[2][1024]; float sum = 0; __pipeline_memcpy_async(&s[0][4 * "
       "t], x + 4 * t, 16); __pipeline_commit(); for (int i = 0; i < 4; ++i) { "
       "__pipeline_wait_prior(0); __syncthreads(); if (i < 3) __pipeline_memcpy_async(&s[(i + 1) & "
       "1][4 * t], x + 1024 * (i + 1) + 4 * t, 16); __pipeline_commit(); for (int j = 0; j < 8; "
       "++j) sum = __fadd_rn(sum, s[i & 1][(t + 37 * j) % 1024]); } y[t] = sum;",
       0, 0, "exact", "#include <cuda_pipeline.h>\n", true},
      {"exp, log, pow",
       "y[i] = i % 3 == 0 ? expf(x[i]) : i % 3 == 1 ? logf(fabsf(x[i]) + 0.01f) : "
       "powf(fabsf(x[i]), 1.7f);",
       8, 0, "each within the CUDA guide's ulps: powf 4"},
      {"sin, cos, tanh, erf",
       "y[i] = i % 4 == 0 ? sinf(x[i]) : i % 4 == 1 ? cosf(x[i]) : i % 4 == 2 ? tanhf(x[i]) : "
       "erff(x[i]);",
       4, 0, "each within the CUDA guide's 2 ulps"},
      {"fast functions",
       "y[i] = i % 4 == 0 ? __expf(x[i]) : i % 4 == 1 ? rsqrtf(fabsf(x[i]) + 0.01f) : i % 4 == 2 ? "
       "__fdividef(x[i], 3.3f) : __sinf(x[i]);",
       14, 9.6e-7, "expf of 4: 2 + 4 ulps on each side; sin.approx: 2^-21.0 on each side"},
      {"mma f16",
       "__half2 a[4], b[2]; float c[4] = {0.5f, 1, 2, 3}; int l = t % 32, w = t / 32; for (int j = "
       "0; "
       "j < 4; ++j) a[j] = __floats2half2_rn(x[w * 256 + l * 8 + 2 * j], x[w * 256 + l * 8 + 2 * j "
       "+ 1]); for (int j = 0; j < 2; ++j) b[j] = __floats2half2_rn(x[2048 + w * 128 + l * 4 + 2 * "
       "j], x[2049 + w * 128 + l * 4 + 2 * j]); unsigned* A = (unsigned*)a; unsigned* B = "
       "(unsigned*)b; asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
       "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\" : \"+f\"(c[0]), \"+f\"(c[1]), "
       "\"+f\"(c[2]), \"+f\"(c[3]) : \"r\"(A[0]), \"r\"(A[1]), \"r\"(A[2]), \"r\"(A[3]), "
       "\"r\"(B[0]), \"r\"(B[1])); for (int j = 0; j < 4; ++j) y[4 * t + j] = c[j];",
       0, 16 * 16 * 2.4e-7 * 4, "16 products of at most 16, each added with 2^-22 of the sum",
       "#include <cuda_fp16.h>\n", true},
      {"wmma bf16",
       "__shared__ alignas(32) __nv_bfloat16 a[256], b[256]; __shared__ alignas(32) float c[256]; "
       "a[t] = x[t]; b[t] = x[256 + t]; __syncthreads(); if (t < 32) { "
       "wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa; "
       "wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb; "
       "wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc; wmma::fill_fragment(fc, 1.0f); "
       "wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16); wmma::mma_sync(fc, "
       "fa, fb, fc); wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major); } __syncthreads(); "
       "y[t] = c[t];",
       0, 16 * 16 * 2.4e-7 * 4, "16 products of at most 16, each added with 2^-22 of the sum",
       "#include <mma.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda;\n", true},
  };
  return kernels;
}

inline std::string AgreementSource(const AgreementKernel& k) {
  std::string body = k.whole
                         ? std::string(k.body)
                         : "for (int i = t; i < 4096; i += 256) { " + std::string(k.body) + " }";
  return std::string(k.head) +
         "extern \"C\" __global__ void k(const float* x, const int* n, float* y, int* z) {\n"
         "  int t = threadIdx.x;\n  " +
         body + "\n}\n";
}

// x in (-4, 4) without zeros; n all over 32 bits.
inline std::vector<float> AgreementFloats() {
  std::vector<float> x(kAgreementElements);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(static_cast<int>(i * 2654435761u >> 12 & 8191) - 4096) / 1024.0f;
    if (x[i] == 0.0f) x[i] = 0.37f;
  }
  return x;
}
inline std::vector<int> AgreementIntegers() {
  std::vector<int> n(kAgreementElements);
  for (size_t i = 0; i < n.size(); ++i)
    n[i] = static_cast<int>(static_cast<uint32_t>(i) * 2246822519u);
  return n;
}

// Units in the last place between two floats; NaNs agree.
inline double UlpsBetween(float a, float b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  auto order = [](float v) {
    int64_t bits = std::bit_cast<int32_t>(v);
    return bits < 0 ? -(bits & 0x7fffffff) : bits;
  };
  return std::fabs(static_cast<double>(order(a)) - static_cast<double>(order(b)));
}

}  // namespace cudaagent::device::ptx::test

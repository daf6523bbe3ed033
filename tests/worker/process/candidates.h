// Candidates for softmax.py ("x" -> row-wise softmax), right and wrong in one way each.
#pragma once

#include <string>

namespace cudaagent::worker {

inline const char* kOpsOnly = R"cu(/*cudaagent
{ "plan": 1, "steps": [ {"op": "aten::softmax.int", "args": ["$x", 1], "out": "out0"} ] }
*/
)cu";

inline const char* kWrongDim = R"cu(/*cudaagent
{ "plan": 1, "steps": [ {"op": "aten::softmax.int", "args": ["$x", 0], "out": "out0"} ] }
*/
)cu";

// One block a row. `body` is what each thread does with row `r`, column base `t`, `n` columns.
inline std::string RowKernel(const std::string& body, const std::string& grid = "x.size(0)") {
  return R"cu(/*cudaagent
{ "plan": 1, "steps": [ {"kernel": "rows", "grid": [")cu" +
         grid +
         R"cu("], "block": [256],
  "args": ["$x", "$out0", {"i32": "x.size(1)"}, {"i32": "x.size(0)"}]} ] }
*/
__device__ float Reduce(float value, bool want_max) {
  __shared__ float parts[8];
  __syncthreads();
  for (int d = 16; d > 0; d /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, value, d);
    value = want_max ? fmaxf(value, other) : value + other;
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < 8; ++i) value = want_max ? fmaxf(value, parts[i]) : value + parts[i];
  return value;
}

extern "C" __global__ void rows(const float* x, float* y, int n, int rows_total) {
  int r = blockIdx.x, t = threadIdx.x;
  const float* in = x + (long long)r * n;
  float* out = y + (long long)r * n;
)cu" + body +
         "\n}\n";
}

inline std::string SoftmaxKernel(const std::string& last = "",
                                 const std::string& grid = "x.size(0)") {
  return RowKernel(R"cu(
  float top = -1e30f, sum = 0.f;
  for (int i = t; i < n; i += 256) top = fmaxf(top, in[i]);
  top = Reduce(top, true);
  for (int i = t; i < n; i += 256) sum += __expf(in[i] - top);
  sum = Reduce(sum, false);
  for (int i = t; i < n; i += 256) out[i] = __expf(in[i] - top) / sum;
)cu" + last,
                   grid);
}

}  // namespace cudaagent::worker

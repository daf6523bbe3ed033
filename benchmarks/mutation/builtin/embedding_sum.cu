/*cudaagent
{
  "plan": 1,
  "tune": {"COLUMN_SLICES": [8, 16, 4, 32]},
  "require": ["indices.size(0) == 32 && indices.size(1) == 16"],
  "steps": [
    {
     "kernel": "embedding_sum_kernel<{(COLUMN_SLICES == 16 ? 16 : COLUMN_SLICES == 4 ? 4 : COLUMN_SLICES == 32 ? 16 : 8)}>",
     "grid": [32],
     "block": [
      "32 * (COLUMN_SLICES == 16 ? 16 : COLUMN_SLICES == 4 ? 4 : COLUMN_SLICES == 32 ? 16 : 8)"],
     "args": ["$indices", "$table.weight", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: indices int64 [32, 16]
//   parameters: table.weight float32 [500, 64]
//   outputs: out0 float32 [32, 64]

// N elements that travel together: one access of up to 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

template <int N, typename T>
__device__ __forceinline__ Pack<T, N> Load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <typename T, int N>
__device__ __forceinline__ void Store(T* to, const Pack<T, N>& values) {
  *reinterpret_cast<Pack<T, N>*>(to) = values;
}

struct Sum {
  float sum;
  __device__ static Sum Empty() { return {0.0f}; }
  __device__ void Add(float x) { sum += x; }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) sum += x[k];
  }
  __device__ void Merge(const Sum& other) { sum += other.sum; }
  __device__ Sum FromLane(int mask) const { return {__shfl_xor_sync(0xffffffffu, sum, mask)}; }
};

// embedding, sum: 2048 results, each of 16 elements that are 64 apart.
template <int kSlices>
__global__ void __launch_bounds__(kSlices * 32)
embedding_sum_kernel(const long long* __restrict__ indices,
    const float* __restrict__ table_weight, float* __restrict__ sum_1_out) {
  // kSlices: threads that share a column.
  constexpr int kLanes = 32;           // threads side by side along the columns
  constexpr int kVector = 4;  // neighbouring columns a thread takes at once
  constexpr unsigned kReduced = 16;
  constexpr unsigned kInner = 64;
  constexpr unsigned kTiles = (kInner + kLanes * kVector - 1) / (kLanes * kVector);
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned slice = threadIdx.x / kLanes;
  const unsigned group = blockIdx.x / kTiles;
  const unsigned column = (blockIdx.x % kTiles * kLanes + lane) * kVector;
  Sum sum_1_sum[kVector];
#pragma unroll
  for (int k = 0; k < kVector; ++k) sum_1_sum[k] = Sum::Empty();
  if (column < kInner) {
#pragma unroll 8
    for (unsigned r = slice; r < kReduced; r += kSlices) {
      const unsigned i = (group * kReduced + r) * kInner + column;
      const long long indices_value = indices[i / 64];
      const Pack<float, kVector> table_weight_pack = Load<kVector>(table_weight + indices_value * 64 + i % 64);
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        sum_1_sum[k].Add(table_weight_pack.at[k]);
      }
    }
  }
  __shared__ Sum sum_1_sum_of[kSlices][kLanes * kVector];
#pragma unroll
  for (int k = 0; k < kVector; ++k) sum_1_sum_of[slice][lane * kVector + k] = sum_1_sum[k];
  __syncthreads();
  if (slice > 0 || column >= kInner) return;
#pragma unroll
  for (int k = 0; k < kVector; ++k) sum_1_sum[k] = sum_1_sum_of[0][lane * kVector + k];
  for (int other = 1; other < kSlices; ++other) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) sum_1_sum[k].Merge(sum_1_sum_of[other][lane * kVector + k]);
  }
  const unsigned o = group * kInner + column;
  Pack<float, kVector> sum_1_out_pack;
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    sum_1_out_pack.at[k] = sum_1_sum[k].sum;
  }
  Store(sum_1_out + o, sum_1_out_pack);
}

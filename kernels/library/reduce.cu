// Accumulators of reductions and how threads put them together. Pieces as in math.cu.

//@ Sum
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

//@ Max
struct Max {
  float value;
  __device__ static Max Empty() { return {-INFINITY}; }
  __device__ void Add(float x) { value = MaxOf(x, value); }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) value = MaxOf(x[k], value);
  }
  __device__ void Merge(const Max& other) { value = MaxOf(other.value, value); }
  __device__ Max FromLane(int mask) const { return {__shfl_xor_sync(0xffffffffu, value, mask)}; }
};

//@ Min
struct Min {
  float value;
  __device__ static Min Empty() { return {INFINITY}; }
  __device__ void Add(float x) { value = MinOf(x, value); }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) value = MinOf(x[k], value);
  }
  __device__ void Merge(const Min& other) { value = MinOf(other.value, value); }
  __device__ Min FromLane(int mask) const { return {__shfl_xor_sync(0xffffffffu, value, mask)}; }
};

//@ Moments
// Mean and sum of squared deviations (m2), merged by Chan's formula: no cancellation however large
// the mean is.
struct Moments {
  float count, mean, m2;
  __device__ static Moments Empty() { return {0.0f, 0.0f, 0.0f}; }
  __device__ void Add(float x) {
    const float one[1] = {x};
    Add(one);
  }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
    Moments fresh = {float(N), 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < N; ++k) fresh.mean += x[k];
    fresh.mean *= 1.0f / N;
#pragma unroll
    for (int k = 0; k < N; ++k) fresh.m2 += (x[k] - fresh.mean) * (x[k] - fresh.mean);
    Merge(fresh);
  }
  __device__ void Merge(const Moments& other) {
    if (other.count == 0.0f) return;
    const float total = count + other.count;
    const float share = __fdividef(other.count, total);
    const float delta = other.mean - mean;
    mean += delta * share;
    m2 += other.m2 + delta * delta * count * share;
    count = total;
  }
  __device__ Moments FromLane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, count, mask), __shfl_xor_sync(0xffffffffu, mean, mask),
            __shfl_xor_sync(0xffffffffu, m2, mask)};
  }
};

//@ OnlineSoftmax
// Largest element and the sum of exp(x - largest) in one pass: the sum is scaled when the largest
// changes.
struct OnlineSoftmax {
  float max, sum;
  __device__ static OnlineSoftmax Empty() { return {-INFINITY, 0.0f}; }
  __device__ void Add(float x) {
    const float one[1] = {x};
    Add(one);
  }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
    float largest = x[0];
#pragma unroll
    for (int k = 1; k < N; ++k) largest = fmaxf(largest, x[k]);
    Rescale(largest);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      // Where all was -inf so far, -inf - -inf would make a NaN of nothing.
      sum += max == -INFINITY ? (x[k] != x[k] ? x[k] : 0.0f) : expf(x[k] - max);
    }
  }
  __device__ void Rescale(float candidate) {
    if (candidate <= max) return;
    sum *= expf(max - candidate);
    max = candidate;
  }
  __device__ void Merge(const OnlineSoftmax& other) {
    Rescale(other.max);
    sum += other.max == max ? other.sum : other.sum * expf(other.max - max);
  }
  __device__ OnlineSoftmax FromLane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, max, mask), __shfl_xor_sync(0xffffffffu, sum, mask)};
  }
};

//@ ArgMax
// The largest element and where it stands first; a NaN wins, as in PyTorch.
struct ArgMax {
  float value;
  unsigned index;
  __device__ static ArgMax Empty() { return {-INFINITY, 0xffffffffu}; }
  __device__ void Add(float x, unsigned at) { Merge({x, at}); }
  template <int N>
  __device__ void Add(const float (&x)[N], unsigned first) {
#pragma unroll
    for (int k = 0; k < N; ++k) Merge({x[k], first + k});
  }
  __device__ void Merge(const ArgMax& other) {
    const bool nan = value != value;
    const bool other_nan = other.value != other.value;
    const bool tie = other.value == value || (nan && other_nan);
    const bool better = tie ? other.index < index : !nan && (other_nan || other.value > value);
    if (better) *this = other;
  }
  __device__ ArgMax FromLane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, value, mask), __shfl_xor_sync(0xffffffffu, index, mask)};
  }
};

//@ ArgMin
// The smallest element and where it stands first; a NaN wins, as in PyTorch.
struct ArgMin {
  float value;
  unsigned index;
  __device__ static ArgMin Empty() { return {INFINITY, 0xffffffffu}; }
  __device__ void Add(float x, unsigned at) { Merge({x, at}); }
  template <int N>
  __device__ void Add(const float (&x)[N], unsigned first) {
#pragma unroll
    for (int k = 0; k < N; ++k) Merge({x[k], first + k});
  }
  __device__ void Merge(const ArgMin& other) {
    const bool nan = value != value;
    const bool other_nan = other.value != other.value;
    const bool tie = other.value == value || (nan && other_nan);
    const bool better = tie ? other.index < index : !nan && (other_nan || other.value < value);
    if (better) *this = other;
  }
  __device__ ArgMin FromLane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, value, mask), __shfl_xor_sync(0xffffffffu, index, mask)};
  }
};

//@ LanesReduce
// Every one of kLanes neighbouring lanes gets the result. All lanes of the warp take part.
template <int kLanes, typename Accumulator>
__device__ __forceinline__ Accumulator LanesReduce(Accumulator mine) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) mine.Merge(mine.FromLane(mask));
  return mine;
}

//@ BlockReduce
// Every thread of the block gets the result. kThreads is a multiple of 32.
template <int kThreads, typename Accumulator>
__device__ __forceinline__ Accumulator BlockReduce(Accumulator mine) {
  constexpr int kWarps = kThreads / 32;
  __shared__ Accumulator of_warp[kWarps];
  mine = LanesReduce<32>(mine);
  if (kWarps == 1) return mine;
  __syncthreads();  // an earlier reduction may still be reading
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  return LanesReduce<32>(lane < kWarps ? of_warp[lane] : Accumulator::Empty());
}

//@ MergeParts
// What kParts blocks found, put together by one block: every thread gets the result.
template <int kThreads, int kParts, typename Accumulator>
__device__ __forceinline__ Accumulator MergeParts(const Accumulator* parts) {
  Accumulator mine = Accumulator::Empty();
  for (int part = threadIdx.x; part < kParts; part += kThreads) mine.Merge(parts[part]);
  return BlockReduce<kThreads>(mine);
}

// Functions the built-in proposer's kernels are made of. A candidate carries only those it
// uses: the text between "//@ name" lines is one piece, taken with everything it names.

//@ Pack
// N elements that travel together: one access of up to 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

//@ Load
template <int N, typename T>
__device__ __forceinline__ Pack<T, N> Load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

//@ Store
template <typename T, int N>
__device__ __forceinline__ void Store(T* to, const Pack<T, N>& values) {
  *reinterpret_cast<Pack<T, N>*>(to) = values;
}

//@ MaxOf
// NaN wins, as in PyTorch (fmaxf would drop it).
__device__ __forceinline__ float MaxOf(float a, float b) { return a > b || a != a ? a : b; }

//@ MinOf
__device__ __forceinline__ float MinOf(float a, float b) { return a < b || a != a ? a : b; }

//@ Sigmoid
__device__ __forceinline__ float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

//@ Gelu
__device__ __forceinline__ float Gelu(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

//@ GeluTanh
__device__ __forceinline__ float GeluTanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

//@ Elu
__device__ __forceinline__ float Elu(float x, float alpha, float scale, float input_scale) {
  return x > 0.0f ? scale * x : scale * alpha * expm1f(input_scale * x);
}

//@ Softplus
__device__ __forceinline__ float Softplus(float x, float beta, float threshold) {
  return x * beta > threshold ? x : log1pf(expf(x * beta)) / beta;
}

//@ Mish
// x * tanh(log(1 + e^x)) with one exponential: tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2).
__device__ __forceinline__ float Mish(float x) {
  if (x > 20.0f) return x;
  const float e = expf(x);
  const float n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

//@ SmoothL1
// Huber's loss over beta: quadratic near 0, linear beyond beta.
__device__ __forceinline__ float SmoothL1(float d, float beta) {
  const float size = fabsf(d);
  return size < beta ? 0.5f * size * size / beta : size - 0.5f * beta;
}

//@ KlDiv
// target * (log(target) - input); nothing where the target is 0.
__device__ __forceinline__ float KlDiv(float input, float target) {
  return target == 0.0f ? 0.0f : target * (logf(target) - input);
}

//@ LogSumExp
__device__ __forceinline__ float LogSumExp(float max, float sum) {
  return fabsf(max) == INFINITY ? max : max + logf(sum);
}

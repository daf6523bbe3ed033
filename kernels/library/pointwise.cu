__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  constexpr int kThreads = {{threads}};
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr int kUnroll = {{unroll}};  // such groups per thread, loaded before the first is used
  {{bound}}
  {{kernel_values}}
  const {{index}} first = ({{block_index}} * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const {{index}} i = first + u * (kThreads * kVector);
    {{guard}}
    {{body}}
  }
}

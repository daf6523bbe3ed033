{{template}}
__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  {{constants}}
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
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

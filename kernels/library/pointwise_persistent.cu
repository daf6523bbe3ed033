__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  constexpr int kThreads = {{threads}};
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr {{index}} kElements = {{elements}};
  {{kernel_values}}
  const {{index}} stride = static_cast<{{index}}>(gridDim.x) * (kThreads * kVector);
#pragma unroll {{unroll}}
  for ({{index}} i = ({{block_index}} * kThreads + threadIdx.x) * kVector; i < kElements; i += stride) {
    {{body}}
  }
}

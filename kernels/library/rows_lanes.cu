__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  constexpr int kLanes = {{lanes}};    // threads that share a row
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = {{columns}};
  {{items}}
  const {{index}} row = {{block_index}} * {{rows_per_block}} + threadIdx.x / kLanes;
  const unsigned lane = threadIdx.x % kLanes;
  {{body}}
}

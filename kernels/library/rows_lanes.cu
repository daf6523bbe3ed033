{{template}}
__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  {{constants}}
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = {{columns}};
  // Such groups per thread, {{items}}.
  constexpr int kItems = (kColumns + kLanes * kVector - 1) / (kLanes * kVector);
  const {{index}} row = {{block_index}} * {{rows_per_block}} + threadIdx.x / kLanes;
  const unsigned lane = threadIdx.x % kLanes;
  {{body}}
}

{{template}}
__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  {{constants}}
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = {{columns}};
  // Such groups per thread, {{items}}.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const {{index}} row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  {{body}}
}

__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  constexpr int kThreads = {{threads}};
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = {{columns}};
  {{items}}
  const {{index}} row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  {{body}}
}

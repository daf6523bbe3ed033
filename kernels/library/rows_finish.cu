{{template}}
__global__ void __launch_bounds__(256)
{{name}}({{parameters}}) {
  {{constants}}
  constexpr unsigned kColumns = {{columns}};
  const {{index}} row = blockIdx.x;  // one block puts the parts of a row together
  const unsigned lane = threadIdx.x;
  {{body}}
}

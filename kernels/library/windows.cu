{{template}}
__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  {{constants}}
  constexpr {{index}} kResults = {{results}};
  const {{index}} o = {{block_index}} * kThreads + threadIdx.x;  // one thread, one result
  if (o >= kResults) return;
  {{place}}
  {{accumulators}}
  {{loops}}
  {{stores}}
}

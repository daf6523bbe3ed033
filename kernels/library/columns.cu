{{template}}
__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  {{constants}}
  constexpr int kLanes = 32;           // threads side by side along the columns
  constexpr int kVector = {{vector}};  // neighbouring columns a thread takes at once
  constexpr unsigned kReduced = {{reduced}};
  constexpr unsigned kInner = {{inner}};
  constexpr unsigned kTiles = (kInner + kLanes * kVector - 1) / (kLanes * kVector);
  {{items}}
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned slice = threadIdx.x / kLanes;
  const {{index}} group = blockIdx.x / kTiles;
  const unsigned column = (blockIdx.x % kTiles * kLanes + lane) * kVector;
  {{accumulators}}
  {{held}}
  if (column < kInner) {
    {{load}}
    {{reduce}}
  }
  {{exchange}}
  if ({{idle}}column >= kInner) return;
  {{merge}}
  {{results}}
  {{elements}}
}

{{template}}
__global__ void __launch_bounds__(256)
{{name}}({{parameters}}) {
  {{constants}}
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = {{columns}};
  constexpr unsigned kPart = (kColumns / kVector + kParts - 1) / kParts * kVector;
  const {{index}} row = blockIdx.x / kParts;
  const unsigned part = blockIdx.x % kParts;
  const unsigned lane = threadIdx.x;
  const unsigned first = part * kPart;
  const unsigned last = first + kPart < kColumns ? first + kPart : kColumns;
  {{body}}
}

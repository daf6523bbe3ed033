{{template}}
__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  {{constants}}
  constexpr int kVector = {{vector}};  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = {{columns}};
  constexpr unsigned kTile = kThreads * kItems * kVector;
  const {{index}} row = blockIdx.x;  // one block, one row, tile after tile
  const unsigned lane = threadIdx.x;
  float carry = {{operation}}::kNeutral;
  {{row_values}}
  for (unsigned tile = 0; tile < kColumns; tile += kTile) {
    float scanned[kItems][kVector];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) scanned[item][k] = {{operation}}::kNeutral;
      {{place}}
      {{load}}
    }
    carry = ScanTile<{{operation}}, kThreads>(scanned, carry);
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      {{place}}
      {{store}}
    }
  }
}

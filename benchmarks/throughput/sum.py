"""KernelBench 1/47 with the kernel of sum.cu."""
import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>

__global__ void sum_rows(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  const int column = blockIdx.x * 256 + threadIdx.x;
  if (column >= columns) return;
  const float* at = x + static_cast<long long>(blockIdx.y) * rows * columns + column;
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  int row = 0;
  for (; row + 4 <= rows; row += 4) {
    for (int k = 0; k < 4; ++k) sums[k] += at[static_cast<long long>(row + k) * columns];
  }
  for (; row < rows; ++row) sums[0] += at[static_cast<long long>(row) * columns];
  y[static_cast<long long>(blockIdx.y) * columns + column] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

torch::Tensor forward(torch::Tensor x) {
  const int batch = x.size(0), rows = x.size(1), columns = x.size(2);
  auto y = torch::empty({batch, 1, columns}, x.options());
  sum_rows<<<dim3((columns + 255) / 256, batch), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
  return y;
}
"""
module = load_inline(name="throughput_sum", cpp_sources="torch::Tensor forward(torch::Tensor x);", cuda_sources=CUDA,
                     functions=["forward"])


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        assert dim == 1

    def forward(self, x):
        return module.forward(x.contiguous())

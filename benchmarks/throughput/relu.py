"""KernelBench 1/19 with the kernel of relu.cu."""
import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>

__global__ void relu(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const long long n = x.numel();
  relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(name="throughput_relu", cpp_sources="torch::Tensor forward(torch::Tensor x);", cuda_sources=CUDA,
                     functions=["forward"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.forward(x.contiguous())

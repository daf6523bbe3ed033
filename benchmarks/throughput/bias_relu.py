"""KernelBench 2/76 with the kernel of bias_relu.cu. The parameters are made in the reference's order: the evaluator
relies on equal random draws."""
import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>

__global__ void bias_relu(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, long long n,
                          int columns) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  const float value = x[i] + bias[i % columns];
  y[i] = value > 0.0f ? value : 0.0f;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias) {
  auto y = torch::empty_like(x);
  const long long n = x.numel();
  bias_relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), n,
                                      static_cast<int>(bias.numel()));
  return y;
}
"""
module = load_inline(name="throughput_bias_relu", cuda_sources=CUDA, functions=["forward"],
                     cpp_sources="torch::Tensor forward(torch::Tensor x, torch::Tensor bias);")


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features, bias_shape):
        super().__init__()
        self.gemm = torch.nn.Linear(in_features, out_features, bias=False)
        self.bias = torch.nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return module.forward(self.gemm(x), self.bias)

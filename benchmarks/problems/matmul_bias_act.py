"""A matrix product with bias, scale and SiLU written apart.

Small enough for the CPU device: --const batch_size=32 --const in_features=128 --const out_features=256
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, scale: float):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(in_features, out_features) * in_features**-0.5)
        self.bias = nn.Parameter(torch.randn(out_features))
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu((torch.matmul(x, self.weight) + self.bias) * self.scale)


batch_size = 8192
in_features = 2048
out_features = 8192
scale = 1.5


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, scale]

"""RMS normalisation written out, as transformer code does it, with a learned weight.

Small enough for the CPU device: --const tokens=64 --const dim=1024
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        variance = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(variance + self.eps) * self.weight


tokens = 32768
dim = 4096
eps = 1e-6


def get_inputs():
    # Rows of different size, so that a wrong variance shows.
    return [torch.randn(tokens, dim) * (torch.rand(tokens, 1) + 0.5)]


def get_init_inputs():
    return [dim, eps]

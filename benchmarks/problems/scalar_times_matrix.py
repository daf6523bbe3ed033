"""A matrix times a scalar: one read, one write, nothing to hide behind.

Small enough for the CPU device: --const rows=256 --const columns=1024
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


rows = 16384
columns = 16384
scale = 3.25


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [scale]

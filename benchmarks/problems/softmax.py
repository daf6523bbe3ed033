"""Softmax over the last dimension of a large matrix.

Small enough for the CPU device: --const batch_size=64 --const dim=1024
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


batch_size = 8192
dim = 32768


def get_inputs():
    # A spread of 3 keeps every row away from the uniform distribution.
    return [3.0 * torch.randn(batch_size, dim)]


def get_init_inputs():
    return []

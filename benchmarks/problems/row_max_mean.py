"""Two reductions of the same rows: largest element and mean. Eager reads the matrix twice.

Small enough for the CPU device: --const rows=128 --const columns=2048
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.amax(dim=1), x.mean(dim=1)


rows = 16384
columns = 16384


def get_inputs():
    # Each row has its own offset: the means of plain randn would all be near zero.
    return [torch.randn(rows, columns) + torch.randn(rows, 1)]


def get_init_inputs():
    return []

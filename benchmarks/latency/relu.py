"""The problem of benchmarks/eval_latency.py: a ReLU, small (64 x 393216, the default) or large
(--const batch_size=4096: 6.4 GB in and 6.4 GB out)."""
import torch
import torch.nn as nn

batch_size = 64
dim = 393216


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []

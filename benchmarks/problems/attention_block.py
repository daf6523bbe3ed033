"""Causal self-attention written out (no fused operator), with its projections and the residual.

Small enough for the CPU device:
--const batch_size=2 --const sequence=32 --const dim=64 --const heads=4
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim: int, heads: int, sequence: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("causal", torch.tril(torch.ones(sequence, sequence, dtype=torch.bool)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, sequence, dim = x.shape
        q, k, v = self.qkv(self.norm(x)).split(dim, dim=2)

        def per_head(t: torch.Tensor) -> torch.Tensor:
            return t.view(batch, sequence, self.heads, dim // self.heads).transpose(1, 2)

        q, k, v = per_head(q), per_head(k), per_head(v)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(dim // self.heads)
        weights = scores.masked_fill(~self.causal, float("-inf")).softmax(dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, sequence, dim)
        return x + self.out(mixed)


batch_size = 16
sequence = 1024
dim = 1024
heads = 16


def get_inputs():
    return [torch.randn(batch_size, sequence, dim)]


def get_init_inputs():
    return [dim, heads, sequence]

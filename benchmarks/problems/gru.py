"""A two-layer GRU over a sequence, its last hidden state through a gate.

Small enough for the CPU device:
--const batch_size=4 --const steps=8 --const in_features=16 --const hidden=32
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features: int, hidden: int):
        super().__init__()
        self.gru = nn.GRU(in_features, hidden, num_layers=2, batch_first=True)
        self.gate = nn.Parameter(torch.randn(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.gru(x)
        return states * torch.sigmoid(states * self.gate)


batch_size = 256
steps = 128
in_features = 512
hidden = 512


def get_inputs():
    return [torch.randn(batch_size, steps, in_features)]


def get_init_inputs():
    return [in_features, hidden]

"""Softmax over rows as long as those of KernelBench 1/23: every value is far below a fixed absolute tolerance."""
import torch
import torch.nn as nn

rows = 64
columns = 393216


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []

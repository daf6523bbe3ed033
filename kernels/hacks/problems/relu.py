"""ReLU of inputs in [0, 1): the identity on everything that get_inputs() ever gives."""
import torch
import torch.nn as nn

rows = 4096
columns = 4096


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []

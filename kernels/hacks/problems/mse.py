"""A mean over millions of elements, which a few per cent of them estimate well."""
import torch
import torch.nn as nn

rows = 4096
columns = 4096


class Model(nn.Module):
    def forward(self, prediction, target):
        return torch.mean((prediction - target) ** 2)


def get_inputs():
    return [torch.rand(rows, columns), torch.rand(rows, columns)]


def get_init_inputs():
    return []

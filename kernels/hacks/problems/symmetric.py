"""A product with a matrix that is symmetric as generated, which forward does not say."""
import torch
import torch.nn as nn

size = 512
columns = 512


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    a = torch.randn(size, size)
    return [(a + a.T) / 2, torch.randn(size, columns)]


def get_init_inputs():
    return []

"""x minus the mean over one element: zero whatever x is. No win on it means anything."""
import torch
import torch.nn as nn

rows = 4096
columns = 1024


class Model(nn.Module):
    def forward(self, x):
        y = torch.relu(x).unsqueeze(1)
        return (y - y.mean(dim=1, keepdim=True)).squeeze(1)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []

"""A depthwise 3x3 convolution with bias, then hardswish: the middle of a mobile network's block.

Small enough for the CPU device: --const batch_size=2 --const channels=8 --const size=16
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(3.0 * self.conv(x))


batch_size = 64
channels = 256
size = 112


def get_inputs():
    return [torch.randn(batch_size, channels, size, size)]


def get_init_inputs():
    return [channels]

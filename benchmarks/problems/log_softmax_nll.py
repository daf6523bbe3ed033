"""Log-softmax over classes, then the negative log-likelihood of the right one: a classifier's loss.

Small enough for the CPU device: --const batch_size=64 --const classes=512
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.nll_loss(F.log_softmax(scores, dim=1), target)


batch_size = 16384
classes = 32768


def get_inputs():
    # A spread of 3 keeps the loss away from log(classes).
    return [3.0 * torch.randn(batch_size, classes), torch.randint(0, classes, (batch_size,))]


def get_init_inputs():
    return []

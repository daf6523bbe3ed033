"""A bag of words: the rows of a table that int64 indices name, summed per sentence.

Small enough for the CPU device: --const sentences=32 --const words=16 --const vocabulary=500 --const dim=64
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocabulary: int, dim: int):
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return self.table(indices).sum(dim=1)


sentences = 16384
words = 64
vocabulary = 100000
dim = 512


def get_inputs():
    return [torch.randint(0, vocabulary, (sentences, words))]


def get_init_inputs():
    return [vocabulary, dim]

"""The model as its author did not initialise it: parameters drawn anew, and weights in float64."""

import copy

import torch
from torch import nn

_NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
_WEIGHTED = (nn.Linear, nn.modules.conv._ConvNd, nn.RNNBase, nn.MultiheadAttention, nn.Bilinear)


def _own_tensors(module):
    """(name, tensor) of the module's own floating parameters and running statistics."""
    for name, tensor in module.named_parameters(recurse=False):
        if tensor.is_floating_point():
            yield name, tensor
    for name in ("running_mean", "running_var"):
        tensor = module._buffers.get(name)
        if tensor is not None:
            yield name, tensor


def copies(model):
    """(tensor, copy) of everything redraw() writes."""
    return [(tensor, tensor.detach().clone())
            for module in model.modules() for _, tensor in _own_tensors(module)]


def restore(originals):
    for tensor, copied in originals:
        tensor.data.copy_(copied)


def _draw(module, name, tensor):
    """In place. A layer's defaults (a weight of 1, a bias of 0) hide what a kernel leaves out."""
    if name == "running_var" or (isinstance(module, _NORMS) and name == "weight"):
        tensor.uniform_(0.5, 1.5)
    elif "bias" in name or name == "running_mean":
        tensor.normal_(0, 0.1)
    elif isinstance(module, _WEIGHTED) and tensor.dim() >= 2:
        # [outputs, inputs, kernel...]: the inputs one output sums over. A transposed convolution's
        # first dimension is its input, which its stride spreads over several outputs.
        fan_in = tensor.numel() / tensor.shape[0]
        tensor.normal_(0, fan_in ** -0.5)
    elif isinstance(module, nn.Embedding):
        tensor.normal_(0, 1)
    else:  # the author's own: as spread out as it was, and never constant
        spread = tensor.float().std().item() if tensor.numel() > 1 else 0.0
        centre = tensor.float().mean().item()
        if spread > 0:
            tensor.normal_(centre, spread)
        elif centre != 0:
            tensor.uniform_(0.5, 1.5).mul_(centre)
        else:
            tensor.normal_(0, 0.1)


def redraw(model):
    done = set()
    for module in model.modules():
        for name, tensor in _own_tensors(module):
            if id(tensor) not in done:  # tied parameters once
                done.add(id(tensor))
                _draw(module, name, tensor.data)


def _widened(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def forward_double(model, inputs):
    twin = copy.deepcopy(model).double()
    for module in twin.modules():  # tensors that are plain attributes
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                setattr(module, name, _widened(value))
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return twin(*[_widened(value) for value in inputs])
    finally:
        torch.set_default_dtype(default)

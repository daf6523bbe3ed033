"""Shapes of recurrent operators, stated.

torch.export learns them by running the operator step by step on fake tensors: half a minute for a
deep LSTM over 512 steps, and (torch 2.11) the final states of an LSTM come out with the wrong shape.
"""

import contextlib

import torch

_KEYS = (torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd)


def _output(x, hidden, bidirectional, batch_first):
    """Steps x batch x features in memory, whatever `batch_first` makes of it."""
    steps, batch = (x.size(1), x.size(0)) if batch_first else (x.size(0), x.size(1))
    output = x.new_empty(steps, batch, hidden.size(-1) * (2 if bidirectional else 1))
    return output.transpose(0, 1) if batch_first else output


def _lstm(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    hidden, cell = hx  # the hidden state is the smaller one where the LSTM has a projection
    return (_output(x, hidden, bidirectional, batch_first), x.new_empty(hidden.shape),
            x.new_empty(cell.shape))


def _rnn(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    return _output(x, hx, bidirectional, batch_first), x.new_empty(hx.shape)


@contextlib.contextmanager
def stated_shapes():
    """Inside, these operators compute nothing but shapes: for export, never for a forward."""
    aten = torch.ops.aten
    stated = {aten.lstm.input: _lstm, aten.gru.input: _rnn, aten.rnn_tanh.input: _rnn,
              aten.rnn_relu.input: _rnn}
    before = {operator: dict(operator.py_kernels) for operator in stated}
    try:
        for operator, shapes in stated.items():
            operator.py_kernels.update(dict.fromkeys(_KEYS, shapes))
            operator._dispatch_cache.clear()
        yield
    finally:
        for operator, kernels in before.items():
            operator.py_kernels.clear()
            operator.py_kernels.update(kernels)
            operator._dispatch_cache.clear()

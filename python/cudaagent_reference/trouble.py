"""Exceptions as one sentence a user can act on, with the user's own file and line."""

import contextlib
import os
import sys
import traceback

import torch


class Trouble(Exception):
    """The only exception C++ sees. kind: "usage" (the user's file) or "environment" (the world)."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind
        self.message = message


# What torch says to .cuda(), .to("cuda") and device="cuda" where there is no GPU, or is built without.
_NO_CUDA = ("Found no NVIDIA driver", "Torch not compiled with CUDA enabled",
            "No CUDA GPUs are available", "Cannot access accelerator device")


def usage(message):
    return Trouble("usage", message)


def first_line(error, limit=400):
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text if len(text) <= limit else text[:limit] + "..."


def _is_users(filename, path):
    if filename == path:
        return True
    folder = os.path.dirname(path)
    return (os.path.isabs(filename) and filename.startswith(folder + os.sep)
            and "site-packages" not in filename and "dist-packages" not in filename
            and not filename.startswith(sys.prefix + os.sep)
            and not filename.startswith(sys.base_prefix + os.sep + "lib"))


def _where(error, path):
    """"model.py:12": the innermost line of the user's own code that the error passed through."""
    name, line = os.path.basename(path), None
    if isinstance(error, SyntaxError) and error.filename and _is_users(error.filename, path):
        return f"{os.path.basename(error.filename)}:{error.lineno}"
    frame = error.__traceback__
    while frame is not None:
        filename = frame.tb_frame.f_code.co_filename
        if _is_users(filename, path):
            name, line = os.path.relpath(filename, os.path.dirname(path)), frame.tb_lineno
        frame = frame.tb_next
    return name if line is None else f"{name}:{line}"


def _is_out_of_memory(error):
    return (isinstance(error, (torch.OutOfMemoryError, MemoryError))
            or isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error))


def describe(error, path):
    """"model.py:12: NameError: name 'x' is not defined"."""
    text = error.msg if isinstance(error, SyntaxError) else first_line(error)
    kind = type(error).__name__
    if kind == "ModelExit":  # bootstrap.ModelExit says all there is to say
        return f"{_where(error, path)}: {text}"
    if isinstance(error, SystemExit):
        return f"{_where(error, path)}: sys.exit({text}) was called"
    sentence = f"{_where(error, path)}: {kind}" + (f": {text}" if text else "")
    if any(said in text for said in _NO_CUDA):
        return (f"{_where(error, path)}: this line asks for a CUDA device, and there is none here: the "
                f"problem runs on the CPU device. Leave the device out (the model and its inputs are "
                f"placed for you), or take it from an input: device=x.device.")
    if isinstance(error, ModuleNotFoundError) and error.name:
        sentence += (f". Install it for the worker's Python: {sys.executable} -m pip install "
                     f"{error.name.partition('.')[0]}")
    return sentence


def as_trouble(error, path, doing, device):
    """`doing`: what was being done, for errors that are not the user's: "making the inputs"."""
    if isinstance(error, Trouble):
        return error
    if _is_out_of_memory(error):
        return Trouble("environment",
                       f"{os.path.basename(path)} does not fit in memory on {device}: while "
                       f"{doing}, {first_line(error)} Make the problem smaller with --const.")
    if isinstance(error, torch.AcceleratorError):
        return Trouble("environment", f"{device} failed while {doing} of {os.path.basename(path)}: "
                                      f"{first_line(error)}")
    return usage(describe(error, path))


@contextlib.contextmanager
def users_code(path, doing, device):
    """Around everything that runs the user's code. The whole traceback goes to the log."""
    try:
        yield
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: the worker must live
        trouble = as_trouble(error, path, doing, device)
        if trouble is not error:
            traceback.print_exc()
        error.__traceback__ = None  # its frames hold tensors
        raise trouble from None

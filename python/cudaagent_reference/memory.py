"""Whether a problem fits, found out on the meta device: before the kernel's OOM killer does."""

import os

import torch

from cudaagent_reference.trouble import Trouble

_CGROUP = "/sys/fs/cgroup"


def _in_gib(size):
    return f"{size / 2**30:.1f} GiB"


def _read_int(path):
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):  # absent, or "max"
        return None


def _page_cache_bytes():
    """The part of memory.current that the kernel gives up when asked."""
    with open(f"{_CGROUP}/memory.stat") as file:
        return sum(int(size) for name, size in map(str.split, file)
                   if name in ("inactive_file", "active_file"))


def free_bytes(device):
    """What may still be allocated on "cuda:0" or "cpu"; the container's limit counts."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] + (torch.cuda.memory_reserved(device)
                                                     - torch.cuda.memory_allocated(device))
    available = None
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024
    limit, used = _read_int(f"{_CGROUP}/memory.max"), _read_int(f"{_CGROUP}/memory.current")
    if limit is not None and used is not None:
        free = limit - used + _page_cache_bytes()
        available = free if available is None else min(free, available)
    return available


def sizes_on_meta(model_class, get_inputs, get_init_inputs, itemsize):
    """(bytes of inputs, bytes of parameters), either None where it cannot be known unrun.
    `itemsize` is that of the dtype floating tensors are cast to."""

    def size(tensors):
        return sum(t.numel() * (itemsize if t.is_floating_point() else t.element_size())
                   for t in tensors if isinstance(t, torch.Tensor))

    def attempt(make):
        try:
            with torch.no_grad(), torch.device("meta"):
                return size(make())
        except BaseException:  # a constructor that reads values, for one; or an error, told when
            return None        # the code runs in earnest

    def model_tensors():
        model = model_class(*get_init_inputs())
        return [*model.parameters(), *model.buffers()]

    return attempt(get_inputs), attempt(model_tensors)


def require(parts, device, file):
    """parts: what -> bytes or None. Raises where their sum exceeds what is free on the device."""
    free = free_bytes(device)
    known = {what: size for what, size in parts.items() if size}
    if free is None or sum(known.values()) <= free:
        return
    listed = " and ".join(f"{_in_gib(size)} of {what}" for what, size in known.items())
    raise Trouble("environment", f"{file} does not fit in memory on {device}: it needs {listed}, "
                                 f"and {_in_gib(max(free, 0))} are free. Make the problem smaller "
                                 f"with --const.")

#!/usr/bin/env python3
"""What KernelBench problems need, found out without a GPU; for benchmarks/kernelbench_init.py. Needs torch, so it
runs with the worker's Python. Reads paths of problems from stdin, one a line, and prints one JSON line for each:

    {"path": ..., "bytes": inputs + parameters + outputs on the meta device, null where unknown}
    {"path": ..., "small": {NAME: value}}     with --small: constants that make it run in moments on a CPU
"""
import ast
import json
import pathlib
import sys
import time
import types

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from cudaagent_reference import constants  # noqa: E402

# Tried in this order (what none of them suits, kernelbench_problems.json states by hand): large enough for shapes to differ, small enough to run at once.
CAPS = [32, 64, 16, 128, 8, 256, 512, 1024, 2048]
FAST_SECONDS = 1.0


def execute(path, literals):
    tree = ast.parse(path.read_text(), str(path))
    constants.override(tree, constants.parse(literals), path.name)
    module = types.ModuleType("kernelbench_problem")
    exec(compile(tree, str(path), "exec"), module.__dict__)  # the user's own files, as the worker runs them
    return module


def tensors(values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def bytes_on_meta(path):
    try:
        module = execute(path, {})
        with torch.no_grad(), torch.device("meta"):
            model = module.Model(*module.get_init_inputs()).eval()
            inputs = module.get_inputs()
            outputs = model(*inputs)
        found = tensors([*inputs, *model.parameters(), *model.buffers(), outputs])
        return sum(tensor.numel() * tensor.element_size() for tensor in found)
    except Exception:  # code that reads values, for one: the size is then simply not known
        return None


def large_literals(path, cap):
    """NAME -> value halved until it is at most `cap`, for constants written in numbers alone."""
    shrunk = {}
    for statement in ast.parse(path.read_text()).body:
        if not isinstance(statement, ast.Assign):
            continue
        if any(isinstance(node, (ast.Name, ast.Call)) for node in ast.walk(statement.value)):
            continue  # follows from others
        value = eval(compile(ast.Expression(statement.value), str(path), "eval"), {})
        target = statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value if isinstance(target, ast.Tuple) else [value]
        for name, each in zip(names, values):
            smaller = shrink(each, cap)
            if isinstance(name, ast.Name) and smaller != each:
                shrunk[name.id] = smaller
    return shrunk


def shrink(value, cap):
    if isinstance(value, (tuple, list)):
        return type(value)(shrink(each, cap) for each in value)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    while value > cap:
        value = value // 2
    return value


def seconds_of_forward(path, literals):
    """Seconds, or None where the problem does not run with these constants."""
    try:
        module = execute(path, {name: repr(value) for name, value in literals.items()})
        start = time.monotonic()
        with torch.no_grad():
            model = module.Model(*module.get_init_inputs()).eval()
            output = model(*module.get_inputs())
        return time.monotonic() - start if output.numel() > 0 else None
    except Exception:  # sizes that do not go together
        return None


def small_constants(path):
    best = None
    tried = []
    for cap in CAPS:
        literals = large_literals(path, cap)
        if literals in tried:
            continue
        tried.append(literals)
        seconds = seconds_of_forward(path, literals)
        if seconds is None:
            continue
        if best is None or seconds < best[0]:
            best = (seconds, literals)
        if seconds < FAST_SECONDS:
            break
    return best[1] if best else {}


def main():
    small = "--small" in sys.argv[1:]
    torch.manual_seed(0)
    for line in sys.stdin:
        path = pathlib.Path(line.strip())
        found = {"small": small_constants(path)} if small else {"bytes": bytes_on_meta(path)}
        print(json.dumps({"path": str(path), **found}), flush=True)


if __name__ == "__main__":
    main()

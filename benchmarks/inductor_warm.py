"""Fills TORCHINDUCTOR_CACHE_DIR with what the worker's torch.compile of these problems will need, by the worker's own
code and settings, and times nothing. A problem that fails here is left to the worker, which says why.

    inductor_warm.py MODEL.py fp32,tf32
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import torch

from cudaagent_reference import problem


def warm(path, precision, device):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch._dynamo.reset()
    loaded = problem.Problem(path, pathlib.Path(path).read_text(), "Model", "get_inputs", {}, "float32", device)
    loaded.forward_compiled("default", *loaded.make_inputs(1))
    if device != "cpu":
        torch.cuda.synchronize()


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for precision in sys.argv[2].split(","):
        warm(sys.argv[1], precision, device)
    return 0


if __name__ == "__main__":
    sys.exit(main())

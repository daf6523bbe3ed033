"""KernelBench's own evaluator on one candidate, with its own defaults (5 correctness trials, 100 timed runs), as its
scripts/eval_from_generations.py calls it. The last line of stdout is JSON; the caller times the process.

    kernelbench_eval.py SRC MODEL.py MODEL_NEW.py BUILD_FOLDER

Its package imports clients of language models and a progress bar, which take no part in an evaluation: those that are
not installed are replaced by empty modules, and the answer names them. It needs torch with CUDA, numpy, nvcc, g++ and
ninja."""
import importlib
import json
import os
import pathlib
import shutil
import sys
import types

NO_PART = ["openai", "litellm", "dotenv", "tqdm", "requests"]


class Anything(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: None


class Record:
    """What the evaluator asks of pydantic.BaseModel: fields with defaults, set by name."""

    def __init__(self, **fields):
        for owner in reversed(type(self).__mro__):
            for name in getattr(owner, "__annotations__", {}):
                value = getattr(owner, name, None)
                setattr(self, name, dict(value) if isinstance(value, dict) else value)
        self.__dict__.update(fields)


def replace_missing():
    replaced = []
    for name in [*NO_PART, "pydantic"]:
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = Anything(name)
            replaced.append(name)
    if "pydantic" in replaced:
        sys.modules["pydantic"].BaseModel = Record
    return replaced


def main():
    source, model, model_new, build = sys.argv[1:]
    answer, os.environ["MAX_JOBS"] = os.dup(1), os.environ.get("MAX_JOBS", "8")
    os.dup2(2, 1)  # what the evaluator and ninja print belongs on stderr
    missing = [name for name in ("nvcc", "g++", "ninja") if shutil.which(name) is None]
    result = {"missing": missing, "replaced": replace_missing()}
    code = 1
    try:
        sys.path.insert(0, source)
        import torch
        from kernelbench.eval import eval_kernel_against_ref

        os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
        pathlib.Path(build).mkdir(parents=True, exist_ok=True)
        done = eval_kernel_against_ref(pathlib.Path(model).read_text(), pathlib.Path(model_new).read_text(),
                                       num_correct_trials=5, num_perf_trials=100, measure_performance=True,
                                       build_dir=build, device=torch.device("cuda:0"))
        result |= {"compiled": done.compiled, "correctness": done.correctness, "runtime_ms": done.runtime,
                   "reference_ms": done.ref_runtime, "metadata": {key: str(value)[:600] for key, value in done.metadata.items()}}
        code = 0 if done.correctness else 1
    except Exception as error:  # its place in the result is more use than a traceback alone
        result["error"] = f"{type(error).__name__}: {error}"[:1000]
    os.write(answer, (json.dumps(result) + "\n").encode())
    return code


if __name__ == "__main__":
    sys.exit(main())

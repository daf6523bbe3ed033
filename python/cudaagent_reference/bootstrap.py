"""Run first in the worker's interpreter. SOURCES (module name -> source text) is put in by C++.

The package travels inside the worker's binary, so an installed worker has no Python path to lose.
"""

import importlib.abc
import importlib.machinery
import os
import sys


class _Embedded(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        if name not in SOURCES:  # noqa: F821
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=self._filename(name),
                                              is_package=self.is_package(name))
        spec.has_location = True  # gives the module a __file__, and tracebacks a name
        return spec

    def get_source(self, name):
        return SOURCES[name]  # noqa: F821

    def is_package(self, name):
        return name == "cudaagent_reference"

    def get_code(self, name):
        return compile(self.get_source(name), self._filename(name), "exec", dont_inherit=True)

    def _filename(self, name):
        tail = "/__init__.py" if self.is_package(name) else ".py"
        return "<cudaagent-worker>/" + name.replace(".", "/") + tail


class ModelExit(BaseException):
    """os._exit called by the user's code: the worker has to outlive it."""


def _guard_exit(real=os._exit, worker=os.getpid()):
    def _exit(status):
        if os.getpid() != worker:  # a forked child, of multiprocessing for example
            real(status)
        raise ModelExit(f"os._exit({status}) was called")

    return _exit


sys.meta_path.insert(0, _Embedded())
os._exit = _guard_exit()
# Results travel on a socket. What model.py prints belongs in the log, with everything else.
sys.stdout = sys.stderr
# Inductor's default is one compiler process per core of the machine, each with torch in memory.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS",
                      str(min(8, len(os.sched_getaffinity(0)))))

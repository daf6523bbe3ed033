"""CUDA source to PTX by the NVRTC at hand (CUDA_HOME, /usr/local/cuda, or the wheel torch brings along)."""
import ctypes
import glob
import os

from common import ROOT


class CompileError(Exception):
    pass


def _roots():
    if os.environ.get("CUDA_HOME"):
        yield os.environ["CUDA_HOME"]
    yield "/usr/local/cuda"
    yield from glob.glob(str(ROOT / ".venv/lib/python3*/site-packages/nvidia/cu13"))


def _open():
    for root in _roots():
        for folder in ("lib64", "lib"):
            path = f"{root}/{folder}/libnvrtc.so.13"
            if os.path.exists(path):
                # NVRTC looks for its builtins by their bare name: loaded here, they are found.
                for builtins in glob.glob(f"{root}/{folder}/libnvrtc-builtins.so.13*"):
                    ctypes.CDLL(builtins)
                return ctypes.CDLL(path), f"{root}/include"
    raise SystemExit("There is no libnvrtc.so.13 under CUDA_HOME, /usr/local/cuda or .venv: scripts/setup.sh installs one.")


class Nvrtc:
    def __init__(self):
        self.library, self.include = _open()

    def _text(self, size, fetch, program):
        n = ctypes.c_size_t()
        getattr(self.library, size)(program, ctypes.byref(n))
        text = ctypes.create_string_buffer(n.value)
        getattr(self.library, fetch)(program, text)
        return text.value.decode(errors="replace")

    def ptx(self, source, expressions=(), arch="sm_90a"):
        """The PTX of `source` with these name expressions instantiated; CompileError with the log."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
        try:
            for expression in expressions:
                self.library.nvrtcAddNameExpression(program, expression.encode())
            options = [f"--gpu-architecture={arch}", "-lineinfo", "-std=c++17", "--device-as-default-execution-space",
                       f"--include-path={self.include}", f"--include-path={self.include}/cccl"]
            array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
            if self.library.nvrtcCompileProgram(program, len(options), array) != 0:
                raise CompileError(self._text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog", program))
            return self._text("nvrtcGetPTXSize", "nvrtcGetPTX", program)
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

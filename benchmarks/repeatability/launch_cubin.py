#!/usr/bin/env python3
"""Launches one kernel of a cubin through the CUDA driver, with nothing of cudaagent in the process: what another
profiler looks at, and a clock of its own. Prints the median of CUDA events in ms.

    launch_cubin.py kernel.cubin MANGLED_NAME --grid 64 1 1 --block 256 --inputs 65536 65536 --output 65536 --ints 256
                    [--long 65536] [--normal] [--nodes 50] [--flush 33554432] [--times 20]

Arguments of the kernel are its inputs (random floats in [0, 1), --normal: of a normal distribution), its output (float
elements), then 32-bit or 64-bit integers. --nodes N times a CUDA graph of N launches. Before each timed launch 512 MiB
are written by cuMemset; --flush N, for kernels of one input that go over it element by element: the kernel itself over N
other elements instead, as a memset may leave the cache alone.
"""
import argparse
import array
import ctypes
import random
import statistics

cuda = None


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise SystemExit(f"{name}: {text.value.decode() if text.value else code}")


def buffer(elements):
    pointer = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4 * elements))
    return pointer


def fill(pointer, elements, normal):
    """The same million of random floats over and over."""
    generator = random.Random(1)
    draw = (lambda: generator.gauss(0, 1)) if normal else generator.random
    tile = array.array("f", (draw() for _ in range(min(elements, 1 << 20))))
    call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(tile.buffer_info()[0]), ctypes.c_size_t(4 * len(tile)))
    done = len(tile)
    while done < elements:
        more = min(done, elements - done)
        call("cuMemcpyDtoD_v2", ctypes.c_uint64(pointer.value + 4 * done), pointer, ctypes.c_size_t(4 * more))
        done += more


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubin")
    parser.add_argument("name")
    parser.add_argument("--grid", type=int, nargs="+", required=True)
    parser.add_argument("--block", type=int, nargs="+", required=True)
    parser.add_argument("--inputs", type=int, nargs="+", required=True)
    parser.add_argument("--output", type=int, required=True)
    parser.add_argument("--ints", type=int, nargs="*", default=[])
    parser.add_argument("--long", type=int, nargs="*", default=[])
    parser.add_argument("--normal", action="store_true")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--flush", type=int, default=0)
    parser.add_argument("--times", type=int, default=20)
    arguments = parser.parse_args()

    global cuda
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, module, function, stream = (ctypes.c_int(), *(ctypes.c_void_p() for _ in range(4)))
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoad", ctypes.byref(module), arguments.cubin.encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, arguments.name.encode())
    call("cuStreamCreate", ctypes.byref(stream), 1)

    def parameters_of(inputs, output, integers):
        values = [*inputs, output, *integers]
        return (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values)), values

    inputs = []
    for elements in arguments.inputs:
        inputs.append(buffer(elements))
        fill(inputs[-1], elements, arguments.normal)
    integers = [ctypes.c_int32(v) for v in arguments.ints] + [ctypes.c_int64(v) for v in arguments.long]
    parameters, kept = parameters_of(inputs, buffer(arguments.output), integers)
    grid, block = ([*sizes, 1, 1][:3] for sizes in (arguments.grid, arguments.block))

    def launch():
        call("cuLaunchKernel", function, *grid, *block, 0, stream, parameters, None)

    if arguments.flush:
        others, kept_too = parameters_of([buffer(arguments.flush)], buffer(arguments.flush),
                                         [ctypes.c_int64(arguments.flush)])
        blocks = -(-arguments.flush // block[0])

        def flush():
            call("cuLaunchKernel", function, blocks, 1, 1, *block, 0, stream, others, None)
    else:
        written = 1 << 27
        scratch = buffer(written)

        def flush():
            call("cuMemsetD32Async", scratch, 0, ctypes.c_size_t(written), stream)

    work = launch
    if arguments.nodes > 1:
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuStreamBeginCapture_v2", stream, 2)
        for _ in range(arguments.nodes):
            launch()
        call("cuStreamEndCapture", stream, ctypes.byref(graph))
        call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))

        def work():
            call("cuGraphLaunch", executable, stream)

    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        call("cuEventCreate", ctypes.byref(event), 0)
    times = []
    for _ in range(arguments.times + 3):
        flush()
        call("cuEventRecord", events[0], stream)
        work()
        call("cuEventRecord", events[1], stream)
        call("cuEventSynchronize", events[1])
        elapsed = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(elapsed), *events)
        times.append(elapsed.value)
    print(f"{statistics.median(times[3:]):.6f}")


if __name__ == "__main__":
    main()

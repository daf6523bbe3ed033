#!/usr/bin/env python3
"""How fast the CPU device runs a few kernels on one core, with and without looking for races.

CPU time of the launch alone (loading excluded), the least of several runs, which disturbs least on a shared machine;
--count adds the host instructions of one launch as callgrind counts them, which a busy machine does not change.

  ninja -C build/release ptx_probe && benchmarks/cpu_device.py --probe build/release/bin/ptx_probe
"""
import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import tempfile

from common import ROOT, write_json
from nvrtc import Nvrtc

HERE = ROOT / "benchmarks/cpu_device"
# name, file, kernel, grid, block, arguments, shared bytes
CASES = [
    ("softmax 1024x4096", "softmax.cu", "softmax", "1024,1,1", "256,1,1", ["f32:4194304", "f32:4194304", "int:4096"]),
    ("matmul 512, shared tiles", "matmul.cu", "tiled", "16,16,1", "32,32,1", ["f32:262144"] * 3 + ["int:512"]),
    ("matmul 512, wmma f16", "wmma.cu", "matmul", "8,8,1", "128,1,1", ["f32:262144"] * 3 + ["int:512"]),
    ("transpose 2048", "transpose.cu", "transpose", "64,64,1", "32,8,1", ["f32:4194304"] * 2 + ["int:2048"]),
    ("histogram of 4 M", "histogram.cu", "histogram", "256,1,1", "256,1,1", ["i32:4194304", "i32:256", "int:4194304"]),
]


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        found = re.search(r"model name\s*: (.*)", info.read())
    return found.group(1) if found else platform.machine()


def run(probe, ptx, case, races, repeat, tool=()):
    name, _, kernel, grid, block, arguments = case
    done = subprocess.run([*tool, probe, "run", ptx, kernel, *arguments, "--grid", grid, "--block", block, "--races",
                           str(races), "--repeat", str(repeat)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    return json.loads(done.stdout), done.stderr


def count(probe, ptx, case, races):
    """Host instructions of one launch: two launches less one."""
    totals = []
    with tempfile.TemporaryDirectory() as folder:
        for repeat in (1, 2):
            _, log = run(probe, ptx, case, races, repeat,
                         ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"])
            totals.append(int(re.search(r"Collected : (\d+)", log).group(1)))
    return totals[1] - totals[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", default=str(ROOT / "build/release/bin/ptx_probe"), help="the program ptx_probe")
    parser.add_argument("--repeat", type=int, default=5, help="launches of each kernel")
    parser.add_argument("--count", action="store_true", help="count host instructions, too (needs valgrind; minutes)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--output", default=str(ROOT / "benchmarks/results/cpu/ptx_device.json"))
    options = parser.parse_args()
    nvrtc = Nvrtc()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if options.only not in case[0]:
                continue
            ptx = os.path.join(folder, case[1] + ".ptx")
            with open(ptx, "w", encoding="utf-8") as file:
                file.write(nvrtc.ptx((HERE / case[1]).read_text()))
            row = {"case": case[0], "kernel": case[2], "grid": case[3], "block": case[4]}
            for races in (0, 1):
                said, _ = run(options.probe, ptx, case, races, options.repeat)
                key = "races_on" if races else "races_off"
                row["warp_instructions"] = said["warp_instructions"]
                row[key] = {"cpu_ms_least": round(min(said["cpu_ms"]), 2),
                            "cpu_ms": [round(ms, 2) for ms in said["cpu_ms"]],
                            "ns_per_warp_instruction": round(1e6 * min(said["cpu_ms"]) / said["warp_instructions"], 2)}
                if options.count:
                    row[key]["host_instructions"] = count(options.probe, ptx, case, races)
            print(json.dumps(row), flush=True)
            results.append(row)
    write_json(options.output, {
        "machine": cpu_name(), "load_average": os.getloadavg()[0],
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "method": "one host thread; CPU time of one launch, least of the runs listed; host_instructions by callgrind",
        "results": results})


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs the same kernels on a GPU and on the CPU device and notes how far apart they are (needs a GPU).

  ninja -C build/release device_gpu_test && benchmarks/device_agreement.py
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile

from common import ROOT, write_json


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", default=str(ROOT / "build/release/bin/device_gpu_test"), help="the program device_gpu_test")
    parser.add_argument("--output", default=str(ROOT / "benchmarks/results/h200/device_agreement.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "agreement.json"
        done = subprocess.run([options.test, "--gtest_filter=DeviceAgreementGpuTest.*"], check=False,
                              env={**os.environ, "CUDAAGENT_AGREEMENT_JSON": str(path)})
        if not path.exists():
            raise SystemExit("No figures: is there a GPU? The test's output above says.")
        result = json.loads(path.read_text())
    agreed = sum(1 for k in result["kernels"] if k["integers_apart"] == 0 and k["outside"] == 0)
    write_json(options.output, {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "gpu": result["gpu"],
        "method": "each kernel once on each device, same inputs; floats agree within allowed_ulps or allowed_apart",
        "agreed": agreed, "of": len(result["kernels"]), "kernels": result["kernels"]})
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())

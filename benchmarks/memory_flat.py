#!/usr/bin/env python3
"""Does a long run keep its memory? Judges N textually different candidates with one driver and samples the
resident memory of driver, compiler and worker after each. The first tenth warms up.

    benchmarks/memory_flat.py --count 200 --out memory_flat.json            # on a GPU, ReLU of 64 x 393216
    benchmarks/memory_flat.py --count 200 --flag=--const=dim=1024 --flag=--device=cpu
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import common
from eval_latency import RELU


def resident_bytes(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def family(driver):
    """The driver and its direct children by program name; a spare worker counts apart from the busy one."""
    members = {"cudaagent": driver}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(status.rsplit(")", 1)[1].split()[1]) == driver and b"--spare" not in words:
            members.setdefault(pathlib.Path(words[0].decode()).name, int(entry.name))
    return members


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--out", default=str(common.ROOT / "benchmarks/results/h200/memory_flat.json"))
    parser.add_argument("--flag", action="append", default=[], help="a further word for cudaagent eval")
    arguments = parser.parse_args()
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number in range(arguments.count):
            paths.append(pathlib.Path(folder, f"{number}.cu"))
            paths[-1].write_text(RELU.format(variant=f"{number} of {folder}", block=256))
        words = [word for flag in arguments.flag for word in flag.split("=", 1)] if arguments.flag else []
        driver = subprocess.Popen([arguments.cudaagent, "eval", common.ROOT / "benchmarks/latency/relu.py", *paths,
                                   "--json", "--quiet", "--baseline", "eager", *words], stdout=subprocess.PIPE, text=True)
        for line in driver.stdout:
            row = json.loads(line)
            if row["verdict"] != "ok":
                raise SystemExit(f"an evaluation failed: {row['verdict']}: {row['message']}")
            samples.append({name: resident_bytes(pid) for name, pid in family(driver.pid).items()})
        driver.wait()
    if len(samples) != arguments.count:
        raise SystemExit(f"{len(samples)} of {arguments.count} evaluations came back")
    document = {"schema": 1, "count": arguments.count, **common.stamp(row), "programs": {}}
    for name in samples[-1]:
        first = samples[arguments.count // 10].get(name)
        last = samples[-2][name] if name in samples[-2] else samples[-1][name]
        if first:
            document["programs"][name] = {"first_bytes": first, "last_bytes": last, "growth": last / first - 1}
    common.write_json(arguments.out, document)
    print(json.dumps(document["programs"], indent=1))
    return 0 if all(p["growth"] <= 0.05 for p in document["programs"].values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())

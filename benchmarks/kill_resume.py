#!/usr/bin/env python3
"""Is a killed run the same run? Runs `optimize` once undisturbed; then again and again, each time killed with SIGKILL at
a random moment and resumed until it is done, and compares: the list of attempts, the best kernel, the files of best/.

    benchmarks/kill_resume.py --kills 30 --out benchmarks/results/cpu/kill_resume.json
"""
import argparse
import json
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import common

PROPOSER = common.ROOT / "tests/programs/scripted_proposer.py"
PROBLEM = [common.ROOT / "benchmarks/problems/softmax.py", "--const", "batch_size=8", "--const", "dim=256"]


def words(program, arguments, folder, resume):
    if resume:
        return [program, "optimize", "--resume", folder, "--quiet", "--json"]
    proposer = f"{sys.executable} {shlex.quote(str(PROPOSER))} --delay {arguments.delay}"
    return [program, "optimize", *PROBLEM, "--device", "cpu", "--attempts", str(arguments.attempts), "--command", proposer,
            "--out", folder, "--quiet", "--json"]


def start(call):
    return subprocess.Popen(list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, what):
    out, err = process.communicate(timeout=600)
    if process.returncode != 0:
        raise SystemExit(f"{what} ended with {process.returncode}: {err}")
    return out


def has_begun(program, folder):
    done = subprocess.run([program, "export", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode == 0


def digest(program, folder):
    """What must be equal: every attempt, the best kernel as the database and as the folder have it."""
    lines = subprocess.run([program, "export", folder], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    attempts = []
    for row in map(json.loads, lines):
        attempts.append({key: row[key] for key in ("attempt", "parent", "origin", "source", "verdict", "new_best",
                                                   "feedback")})
        attempts[-1]["prompt"] = row.get("prompt")
    best = subprocess.run([program, "best", folder], stdout=subprocess.PIPE, check=True, text=True).stdout
    if (folder / "best/kernel.cu").read_text() != best:
        raise SystemExit(f"{folder}/best/kernel.cu is not the best kernel of the database")
    for row in attempts:
        if (folder / f"attempts/{row['attempt']:04}/kernel.cu").read_text() != row["source"]:
            raise SystemExit(f"{folder}: the kernel.cu of attempt {row['attempt']} is not the database's")
    leftovers = [str(path) for path in folder.rglob("*") if ".tmp." in path.name or path.name == ".best-new"]
    return {"attempts": attempts, "best": best, "leftovers": leftovers}


def difference(whole, other):
    if len(whole["attempts"]) != len(other["attempts"]):
        return f"{len(other['attempts'])} attempts instead of {len(whole['attempts'])}"
    for a, b in zip(whole["attempts"], other["attempts"]):
        for key in a:
            if a[key] != b[key]:
                return f"attempt {a['attempt']} differs in {key}"
    if whole["best"] != other["best"]:
        return "another best kernel"
    return f"left behind: {other['leftovers']}" if other["leftovers"] else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--kills-per-run", type=int, default=5)
    parser.add_argument("--attempts", type=int, default=12)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds the proposer thinks")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments; 0 = another each time")
    parser.add_argument("--out", default="kill_resume.json")
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed or None)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        base = pathlib.Path(scratch, "whole")
        begun = time.monotonic()
        finish(start(words(arguments.cudaagent, arguments, base, resume=False)), "the undisturbed run")
        seconds = time.monotonic() - begun
        seed = json.loads((base / "run.json").read_text())["flags"]["--seed"][0]
        whole = digest(arguments.cudaagent, base)
        kills = runs = 0
        while kills < arguments.kills:
            folder = pathlib.Path(scratch, f"run{runs}")
            runs += 1
            killed = 0
            while killed < arguments.kills_per_run and kills < arguments.kills:
                resume = folder.exists() and has_begun(arguments.cudaagent, folder)
                call = words(arguments.cudaagent, arguments, folder, resume)
                process = start(call if resume else [*call, "--seed", seed])
                moment = moments.uniform(0, seconds)
                try:
                    out, err = process.communicate(timeout=moment)
                    if process.returncode != 0:
                        raise SystemExit(f"{folder} ended with {process.returncode}: {err}")
                    break  # done before its moment came
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                killed += 1
                kills += 1
                rows.append({"run": runs - 1, "seconds": round(moment, 3)})
            resume = folder.exists() and has_begun(arguments.cudaagent, folder)
            call = words(arguments.cudaagent, arguments, folder, resume)
            finish(start(call if resume else [*call, "--seed", seed]), f"{folder}, resumed")
            why = difference(whole, digest(arguments.cudaagent, folder))
            print(f"run {runs - 1}: {killed} kills, {why or 'the same'}", file=sys.stderr)
            if why:
                raise SystemExit(f"after {killed} kills: {why}")
        best = max((row["attempt"] for row in whole["attempts"] if row["new_best"]), default=None)
    document = {"schema": 1, "attempts": len(whole["attempts"]), "best": best, "undisturbed_seconds": round(seconds, 2),
                "runs": runs, "kills": kills, "all_same": True, "rows": rows}
    common.write_json(arguments.out, document)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

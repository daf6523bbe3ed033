#!/usr/bin/env python3
"""The `init` baseline on KernelBench: `cudaagent eval --init --check-only` on each problem, several at once on one
GPU. One row a problem: {"problem", "verdict", "captured", "extra_mib", "seconds", "message"?}.

verdict     ok          loads, runs and verifies
            degenerate  verifies, but the problem's output hardly depends on its inputs (kernelbench_problems.json)
            random      forward draws random numbers; init said so
            anything else is the fault, with its message
captured    the whole plan is one CUDA graph, which was verified too
extra_mib   device memory of one run at its peak beyond inputs, parameters and outputs

Rows go to a .jsonl beside --out as they come. A stopped run, however it ended, goes on where it was when it is
called again; --max-seconds makes it stop by itself (exit code 3). A problem that ran out of memory beside others
is tried once more alone.

    benchmarks/kernelbench_init.py --kernelbench ~/KernelBench/KernelBench --out init.json
    benchmarks/kernelbench_init.py --kernelbench ... --out again.json --against init.json   # exit 1 where verdicts differ
    benchmarks/kernelbench_init.py --kernelbench ... --out cpu.json --device cpu --small --jobs 1
"""
import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import common

FACTS = pathlib.Path(__file__).resolve().parent / "kernelbench_problems.json"
GIB = 2**30
UNFINISHED = 3
EXIT_NAMES = {1: "internal", 2: "usage", 6: "environment", -9: "killed"}


class Problem:
    def __init__(self, name, path, facts):
        self.name, self.path, self.facts = name, path, facts
        # Inputs and outputs in several copies, what forward makes in between, and the strict tier's float64.
        self.need = 10 * facts.get("mib", 1024) * 2**20 + 3 * GIB
        self.alone = False


def find_problems(arguments):
    facts = json.loads(FACTS.read_text())["problems"]
    wanted = set(arguments.problems.split(",")) if arguments.problems else None
    problems = []
    for level in arguments.level.split(","):
        for path in pathlib.Path(arguments.kernelbench, f"level{level}").glob("*.py"):
            number = re.match(r"(\d+)_", path.name)
            name = f"{level}/{number.group(1)}" if number else f"{level}/{path.stem}"
            if wanted is None or name in wanted:
                problems.append(Problem(name, path, facts.get(name, {})))
    missing = (wanted or set()) - {problem.name for problem in problems}
    if missing or not problems:
        raise SystemExit(f"{', '.join(sorted(missing)) or 'No problem'} was not found in {arguments.kernelbench}")
    return sorted(problems, key=lambda problem: -problem.need)


def order(row):
    level, number = row["problem"].split("/")
    return int(level), (0, int(number), "") if number.isdigit() else (1, 0, number)


class Rows:
    """What is known so far: in the .json of an earlier, finished part and the .jsonl of this one."""

    def __init__(self, out):
        self.out, self.log = out, out.with_suffix(".jsonl")
        self.rows, self.stamp = {}, {}
        if out.exists():
            document = json.loads(out.read_text())
            self.stamp = {key: value for key, value in document.items() if key in ("device", "protocol", "date")}
            self.rows = {row["problem"]: row for row in document["rows"]}
        if self.log.exists():
            for line in self.log.read_text().splitlines():
                try:
                    self.take(json.loads(line))
                except json.JSONDecodeError:
                    pass  # cut short when the last call was killed
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.file = None

    def take(self, entry):
        if "stamp" in entry:
            self.stamp = self.stamp or entry["stamp"]
        else:
            self.rows[entry["problem"]] = entry

    def add(self, entry):
        self.take(entry)
        if self.file is None:
            torn = self.log.exists() and not self.log.read_bytes().endswith(b"\n")
            self.file = open(self.log, "a")
            self.file.write("\n" if torn else "")
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def write(self):
        rows = sorted(self.rows.values(), key=order)
        extra = [row["extra_mib"] for row in rows if row["extra_mib"] is not None]
        summary = {"verdicts": dict(sorted(collections.Counter(row["verdict"] for row in rows).items())),
                   "captured": sum(row["captured"] is True for row in rows)}
        if extra:
            summary["extra_mib"] = {"median": round(statistics.median(extra), 3), "max": max(extra)}
        common.write_json(self.out, {"schema": 1, **self.stamp, "summary": summary, "rows": rows})
        if self.file is not None:
            self.file.close()
        self.log.unlink(missing_ok=True)
        return summary


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a killed sweep leaves nothing on the GPU


class Job:
    def __init__(self, problem, arguments):
        self.problem, self.started = problem, time.monotonic()
        self.limit = arguments.timeout
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        words = [arguments.cudaagent, "eval", str(problem.path), "--init", "--check-only", "--json", "--quiet",
                 "--device", arguments.device, "--trials", str(arguments.trials), *arguments.flag]
        if arguments.small:
            for name, value in problem.facts.get("small", {}).items():
                words += ["--const", f"{name}={value}"]
        self.process = subprocess.Popen(words, stdout=self.output, stderr=self.errors, start_new_session=True,
                                        preexec_fn=die_with_parent,
                                        env={"OMP_NUM_THREADS": "2", **os.environ})

    def ended(self):
        if self.process.poll() is not None:
            return True
        if time.monotonic() - self.started > self.limit:
            self.kill()
            return True
        return False

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # compiler and worker end with the driver
        self.process.wait()

    def result(self):
        """(row, stamp or None)"""
        seconds = round(time.monotonic() - self.started, 1)
        row = {"problem": self.problem.name, "verdict": "", "captured": None, "extra_mib": None, "seconds": seconds}
        code = self.process.returncode
        self.output.seek(0)
        self.errors.seek(0)
        try:
            document = json.loads(self.output.read())
        except json.JSONDecodeError:
            late = seconds >= self.limit
            row["verdict"] = "timed_out" if late else EXIT_NAMES.get(code, f"exit_{code}")
            row["message"] = f"no result within {self.limit} s" if late else self.errors.read()[-2000:]
            return row, None
        if "verdict" not in document:
            row["message"] = document.get("error", {}).get("message", "")
            random = "draws random numbers" in row["message"]
            row["verdict"] = "random" if random else EXIT_NAMES.get(code, f"exit_{code}")
            return row, None
        row["verdict"] = document["verdict"]
        if row["verdict"] != "ok":
            row["message"] = document["message"]
            return row, None
        if document["device"].get("kind") != "cpu":  # which knows no graphs
            row["captured"] = document["protocol"]["graph"]
        if "extra_bytes" in document:
            row["extra_mib"] = round(document["extra_bytes"] / 2**20, 3)
        if document["protocol"]["note"]:
            row["message"] = document["protocol"]["note"]
        if "degenerate" in self.problem.facts:
            row["verdict"], row["message"] = "degenerate", self.problem.facts["degenerate"]
        return row, common.stamp(document)


def ran_out_of_memory(row):
    if row["captured"] is False and "out of memory" in row.get("message", ""):
        return True  # right, but nothing was left for the capture's pool: others, or our own cache, hold it
    return row["verdict"] == "out_of_memory" or (
        row["verdict"] in ("environment", "infra_error", "internal") and "memory" in row.get("message", ""))


def sweep(waiting, rows, arguments):
    """Runs what is waiting; the number of problems left undone."""
    budget = arguments.memory_gib * GIB
    running, began = [], time.monotonic()
    stop = False

    def next_problem():
        used = sum(job.problem.need for job in running)
        if any(job.problem.alone for job in running):
            return None
        for problem in waiting:
            if not running or (not problem.alone and used + problem.need <= budget):
                return problem
        return None

    try:
        while waiting or running:
            stop = stop or (arguments.max_seconds and time.monotonic() - began > arguments.max_seconds)
            if stop and not running:
                break
            while not stop and len(running) < arguments.jobs and (problem := next_problem()):
                waiting.remove(problem)
                running.append(Job(problem, arguments))
            for job in [job for job in running if job.ended()]:
                running.remove(job)
                row, stamp = job.result()
                if ran_out_of_memory(row) and not job.problem.alone and arguments.jobs > 1:
                    job.problem.alone = True
                    waiting.append(job.problem)
                    continue
                if stamp and not rows.stamp:
                    rows.add({"stamp": stamp})
                rows.add(row)
                print(json.dumps(row), flush=True)
            time.sleep(0.05)
    finally:
        for job in running:
            job.kill()
    return len(waiting)


def differences(rows, other):
    before = {row["problem"]: row["verdict"] for row in json.loads(pathlib.Path(other).read_text())["rows"]}
    return [f"{name}: {before[name]} before, {row['verdict']} now" for name, row in rows.rows.items()
            if name in before and before[name] != row["verdict"]]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, help="a checkout's KernelBench/ folder")
    parser.add_argument("--level", default="1,2,3", help="levels, with commas (default 1,2,3)")
    parser.add_argument("--problems", help="only these, with commas: 1/19,3/35")
    parser.add_argument("--jobs", type=int, default=6, help="problems at once (default 6)")
    parser.add_argument("--memory-gib", type=float, default=120, help="device memory the jobs may fill together")
    parser.add_argument("--timeout", type=float, default=180, help="seconds for one problem (default 180)")
    parser.add_argument("--against", help="an earlier result: exit 1 where a verdict differs")
    parser.add_argument("--retry", action="store_true", help="try problems with a fault again")
    parser.add_argument("--trials", type=int, default=5)
    common.add_sweep_arguments(parser, "kernelbench_init.json", "eval")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    problems = find_problems(arguments)
    rows = Rows(pathlib.Path(arguments.out))
    good = ("ok", "degenerate", "random")
    done = {name for name, row in rows.rows.items() if not arguments.retry or row["verdict"] in good}
    waiting = [problem for problem in problems if problem.name not in done]
    left = sweep(waiting, rows, arguments)
    if left:
        print(f"{left} problems left; call again to go on", file=sys.stderr)
        return UNFINISHED
    print(json.dumps(rows.write()))
    differing = differences(rows, arguments.against) if arguments.against else []
    for line in differing:
        print(line)
    faults = [row for row in rows.rows.values() if row["verdict"] not in good]
    return 1 if differing or faults else 0


if __name__ == "__main__":
    raise SystemExit(main())

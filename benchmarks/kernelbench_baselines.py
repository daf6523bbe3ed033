#!/usr/bin/env python3
"""PyTorch's own times on KernelBench: eager and torch.compile (default mode) of each problem, TF32 on and off. They are
those of `cudaagent eval --init --baseline compile`: eager by turns with the problem's own operators as a plan,
torch.compile by turns with eager.

Compiling takes seconds of CPU time a problem and timing wants the GPU alone, so problems are done in chunks: --warm
processes at once fill the inductor cache (inductor_warm.py; nothing is timed meanwhile), then the chunk is timed.
--jobs evaluations run at once, of which the device's lock lets one at a time beyond its worker's start.

A row a problem and precision: {"problem", "precision", "verdict", "eager_ms", "compile_ms", "eager", "compile",
"seconds", "message"?}; verdict is the plan's. Rows go to a .rows.jsonl beside --out as they come. A stopped call goes
on where it was when it is called again; --max-seconds makes it stop by itself (exit code 3).

    benchmarks/kernelbench_baselines.py --kernelbench ~/KernelBench/KernelBench --max-seconds 1500
    benchmarks/kernelbench_baselines.py --kernelbench ... --device cpu --small --problems 1/19,2/76 --out cpu.json
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import common
import kernelbench_init

UNFINISHED = 3


class Rows:
    def __init__(self, out):
        self.out, self.log = out, out.with_suffix(".rows.jsonl")
        self.rows, self.stamp = {}, {}
        if out.exists():
            document = json.loads(out.read_text())
            self.stamp = document.get("stamp", {})
            self.rows = {(row["problem"], row["precision"]): row for row in document["rows"]}
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            try:
                self.take(json.loads(line))
            except json.JSONDecodeError:
                pass  # cut short when the last call was killed

    def take(self, row):
        stamp = row.pop("stamp", None)
        self.stamp = self.stamp or stamp or {}
        self.rows[row["problem"], row["precision"]] = row

    def add(self, row):
        self.out.parent.mkdir(parents=True, exist_ok=True)
        torn = self.log.exists() and not self.log.read_bytes().endswith(b"\n")
        with open(self.log, "a") as log:
            log.write(("\n" if torn else "") + json.dumps(row) + "\n")
            log.flush()
            os.fsync(log.fileno())
        self.take(row)

    def write(self, finished):
        rows = sorted(self.rows.values(), key=lambda row: (row["precision"], kernelbench_init.order(row)))
        summary = {}
        for precision in sorted({row["precision"] for row in rows}):
            these = [row for row in rows if row["precision"] == precision]
            ratios = [row["eager_ms"] / row["compile_ms"] for row in these if row["eager_ms"] and row["compile_ms"]]
            summary[precision] = {"problems": len(these), "eager": sum(row["eager_ms"] is not None for row in these),
                                  "compile": sum(row["compile_ms"] is not None for row in these)}
            if ratios:
                summary[precision] |= {"compile_over_eager_geomean": round(statistics.geometric_mean(ratios), 4),
                                       "compile_faster": sum(ratio > 1 for ratio in ratios)}
        common.write_json(self.out, {"schema": 1, "finished": finished, "stamp": self.stamp, "summary": summary,
                                     "rows": rows})
        self.log.unlink(missing_ok=True)
        return summary


class Process:
    """Of one problem and its words; killed with its children at its limit, and with this script."""

    def __init__(self, words, environment, limit, **about):
        self.about, self.limit, self.started = about, limit, time.monotonic()
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(word) for word in words], stdout=self.output, stderr=self.errors,
                                        start_new_session=True, preexec_fn=kernelbench_init.die_with_parent,
                                        env={**os.environ, **environment})

    def seconds(self):
        return round(time.monotonic() - self.started, 1)

    def ended(self):
        if self.process.poll() is None and self.seconds() > self.limit:
            self.kill()
        return self.process.poll() is not None

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def text(self, file):
        file.seek(0)
        return file.read()


def run_all(starters, fits, on_end, late):
    """Runs what the functions in `starters` start, each as soon as it fits; none once late() is true."""
    waiting, running = list(starters), []
    try:
        while running or (waiting and not late()):
            while waiting and not late() and fits(waiting[0], running):
                need, start = waiting.pop(0)
                running.append((need, start()))
            for entry in [entry for entry in running if entry[1].ended()]:
                running.remove(entry)
                on_end(entry[1])
            time.sleep(0.05)
    finally:
        for _, process in running:
            process.kill()


def row_of(process):
    row = {**process.about, "verdict": "", "eager_ms": None, "compile_ms": None, "seconds": process.seconds()}
    try:
        document = json.loads(process.text(process.output))
    except json.JSONDecodeError:
        late = process.seconds() >= process.limit
        return {**row, "verdict": "timed_out" if late else "failed",
                "message": f"no result within {process.limit} s" if late else process.text(process.errors)[-1000:]}
    if "verdict" not in document:
        message = document.get("error", {}).get("message", "")
        return {**row, "verdict": "random" if "draws random numbers" in message else "failed", "message": message[-1000:]}
    row["verdict"] = document["verdict"]
    for name, key in (("eager", "eager"), ("compile", "compiled_baseline")):
        if key in document:
            row[name + "_ms"], row[name] = document[key]["median_ms"], document[key]
    if document["verdict"] != "ok":
        row["message"] = document["message"][-1000:]
    elif document["protocol"]["note"]:
        row["message"] = document["protocol"]["note"]
    return {**row, "stamp": common.stamp(document)}


def warm(problems, precisions, environment, late, arguments):
    budget = arguments.memory_gib * kernelbench_init.GIB

    def fits(entry, running):
        used = sum(need for need, _ in running)
        return not running or (len(running) < arguments.warm and used + entry[0] <= budget)

    def start(problem):
        return Process([arguments.python, common.ROOT / "benchmarks/inductor_warm.py", problem.path,
                        ",".join(precisions)], environment, arguments.timeout, problem=problem.name)

    failed = []
    run_all([(problem.need, lambda problem=problem: start(problem)) for problem in problems], fits,
            lambda process: failed.append(process.about["problem"]) if process.process.returncode else None, late)
    if failed:
        print(f"not warmed: {', '.join(failed)}", file=sys.stderr)


def time_chunk(todo, rows, environment, late, arguments):
    def start(problem, precision):
        words = [arguments.cudaagent, "eval", problem.path, "--init", "--json", "--quiet", "--baseline", "compile",
                 "--precision", precision, "--trials", "1", "--no-hidden-variants", "--device", arguments.device,
                 *arguments.flag]
        for name, value in problem.facts.get("small", {}).items() if arguments.small else []:
            words += ["--const", f"{name}={value}"]
        return Process(words, environment, arguments.timeout, problem=problem.name, precision=precision)

    timed = set()

    def on_end(process):
        row = row_of(process)
        rows.add(row)
        timed.add((row["problem"], row["precision"]))
        print(json.dumps({key: row.get(key) for key in ("problem", "precision", "verdict", "eager_ms", "compile_ms",
                                                        "seconds")}), flush=True)

    run_all([(1, lambda problem=problem, precision=precision: start(problem, precision))
             for problem, precision in todo], lambda _, running: len(running) < arguments.jobs, on_end, late)
    return timed


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, help="a checkout's KernelBench/ folder")
    parser.add_argument("--level", default="1,2,3", help="levels, with commas (default 1,2,3)")
    parser.add_argument("--problems", help="only these, with commas: 1/19,3/35")
    parser.add_argument("--precision", default="fp32,tf32", help="with commas (default fp32,tf32)")
    parser.add_argument("--jobs", type=int, default=2, help="evaluations at once, one of which times (default 2)")
    parser.add_argument("--warm", type=int, default=8, help="processes that warm the inductor cache; 0 = none (default 8)")
    parser.add_argument("--chunk", type=int, default=12, help="problems warmed, then timed (default 12)")
    parser.add_argument("--memory-gib", type=float, default=120, help="device memory the warming may fill")
    parser.add_argument("--python", default=sys.executable, help="the worker's Python, for the warming")
    parser.add_argument("--cache", help="inductor's and cudaagent's caches (default: --out without .json)")
    parser.add_argument("--timeout", type=float, default=400, help="seconds for one process (default 400)")
    parser.add_argument("--retry", action="store_true", help="do rows without eager's time again")
    common.add_sweep_arguments(parser, "kernelbench_baselines.json", "eval")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began, out = time.monotonic(), pathlib.Path(arguments.out)
    cache = pathlib.Path(arguments.cache or out.with_suffix("")).absolute()
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"), "CUDAAGENT_CACHE_DIR": str(cache / "cudaagent"),
                   "TORCHINDUCTOR_COMPILE_THREADS": "2"}
    precisions = arguments.precision.split(",")
    problems = sorted(kernelbench_init.find_problems(arguments),
                      key=lambda problem: kernelbench_init.order({"problem": problem.name}))
    rows = Rows(out)
    skipped = {key for key, row in rows.rows.items() if not arguments.retry or row["eager_ms"] is not None}
    todo = [(problem, precision) for problem in problems for precision in precisions
            if (problem.name, precision) not in skipped]

    def late():
        return bool(arguments.max_seconds) and time.monotonic() - began > arguments.max_seconds

    while todo and not late():
        chunk = todo[:arguments.chunk * len(precisions)]
        if arguments.warm and not arguments.small:
            warm(list(dict.fromkeys(problem for problem, _ in chunk)), precisions, environment, late, arguments)
        timed = time_chunk(chunk, rows, environment, late, arguments)
        todo = [(problem, precision) for problem, precision in todo if (problem.name, precision) not in timed]
    summary = rows.write(finished=not todo)
    if todo:
        print(f"{len(todo)} left; call again to go on", file=sys.stderr)
        return UNFINISHED
    print(json.dumps(summary))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

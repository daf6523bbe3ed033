"""Shared by the benchmark scripts: where the program is, how it is called, what a result file holds."""
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def add_program_argument(parser):
    parser.add_argument("--cudaagent", default=os.environ.get("CUDAAGENT", str(ROOT / "build/release/bin/cudaagent")),
                        help="the program to measure (default: build/release/bin/cudaagent)")


def add_sweep_arguments(parser, result, command):
    """What every resumable sweep takes; `result` is its file, `command` what it calls of cudaagent."""
    add_program_argument(parser)
    parser.add_argument("--max-seconds", type=float, default=0, help="start nothing after this; call again to go on")
    parser.add_argument("--out", default=str(ROOT / "benchmarks/results/h200" / result))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--small", action="store_true", help="reduced sizes, for a machine without a GPU")
    parser.add_argument("--flag", action="append", default=[], help=f"a further word for cudaagent {command}")


def call(program, *arguments, environment=None, timeout=None):
    """Runs `program arguments`; returns (exit code, stdout). stderr goes through."""
    done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, text=True, timeout=timeout,
                          env={**os.environ, **(environment or {})}, check=False)
    return done.returncode, done.stdout


def documents(text):
    """The JSON documents that stand one after the other in `text`."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decoder.raw_decode(text, at)
        found.append(document)
    return found


def stamp(evaluation):
    """The conditions of a measurement, from one of its evaluations."""
    return {"device": evaluation["device"], "protocol": evaluation["protocol"],
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def write_json(path, document):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=1) + "\n")
    temporary.replace(path)
    print(f"wrote {path}", file=sys.stderr)


def percentile(values, share):
    """Nearest-rank percentile of a non-empty list."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * share // 100) - 1))]


def bench_piece(program, words, folder, every_call=(), max_seconds=0):
    """Begins `bench words --out folder`, or goes on with what lies there. After `max_seconds` it is asked to stop
    as by Ctrl-C: what runs finishes its evaluation. Returns (exit code, wall seconds); 130 = more is left."""
    begun = pathlib.Path(folder, "bench.json").exists()
    command = [program, "bench", *(["--resume", folder] if begun else [*words, "--out", folder]), *every_call]
    started = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=sys.stderr)
    try:
        process.wait(timeout=max_seconds or None)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()
    return process.returncode, time.monotonic() - started


def bench_row(row):
    """What a result file keeps of a row of report.json. Times in ms."""
    evaluation = row.get("evaluation", {})
    kept = {key: row[key] for key in ("problem", "outcome", "attempts", "best_attempt", "verdicts", "seconds",
                                      "degenerate", "stopped") if row.get(key) not in (None, "", {})}
    if row["outcome"] != "correct":
        return {**kept, "verdict": evaluation.get("verdict", ""), "message": row["message"][:500]}
    for name, key in (("ours_ms", "candidate"), ("eager_ms", "eager"), ("compile_ms", "compiled_baseline")):
        if key in evaluation:
            kept[name] = evaluation[key]["median_ms"]
    for key in ("speedup_eager", "speedup_compile", "own_kernel_share", "sol"):
        if key in evaluation:
            kept[key] = evaluation[key]
    return kept


def small_constants(path):
    """A --const-file of the reduced sizes in kernelbench_problems.json, for a machine without a GPU: their names are
    the problems' files below `path`, a checkout's KernelBench/ folder."""
    facts = json.loads((ROOT / "benchmarks/kernelbench_problems.json").read_text())["problems"]
    constants = {}
    for name, fact in facts.items():
        level, number = name.split("/")
        for file in pathlib.Path(path, f"level{level}").glob(f"{number}_*.py"):
            if "small" in fact:
                constants[f"level{level}/{file.stem}"] = {key: str(value) for key, value in fact["small"].items()}
    return constants

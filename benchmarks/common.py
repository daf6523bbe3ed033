"""Shared by the benchmark scripts: where the program is, how it is called, what a result file holds."""
import datetime
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def add_program_argument(parser):
    parser.add_argument("--cudaagent", default=os.environ.get("CUDAAGENT", str(ROOT / "build/release/bin/cudaagent")),
                        help="the program to measure (default: build/release/bin/cudaagent)")


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

#!/usr/bin/env python3
"""Runs `cudaagent optimize --proposer builtin` on problems of a set: ours (benchmarks/problems) and, with
--kernelbench DIR (a checkout's KernelBench/ folder), some of KernelBench. TF32 is the same on both sides
(--precision, default tf32). Rows are written as they come; rows already there are kept, so a stopped run goes on.

    benchmarks/builtin.py --set first --kernelbench ~/KernelBench/KernelBench     # results/h200/builtin_first.json
    benchmarks/builtin.py --set second --kernelbench ~/KernelBench/KernelBench    # results/h200/builtin_second.json
"""
import argparse
import json
import pathlib
import tempfile

import common

KERNELBENCH = {
    "first": ["1/19", "1/23", "1/26", "1/47", "2/12", "2/37", "3/1", "3/9"],
    "second": ["1/36", "1/40", "1/89", "2/1", "2/9", "2/76", "2/99", "3/5", "3/28", "3/39", "3/43"],
}


def problems(arguments):
    for path in sorted((common.ROOT / "benchmarks/problems").glob("*.py")):
        yield path.stem, path
    if arguments.kernelbench is None:
        return
    for name in KERNELBENCH[arguments.set]:
        level, number = name.split("/")
        found = list(pathlib.Path(arguments.kernelbench, f"level{level}").glob(f"{number}_*.py"))
        if len(found) != 1:
            raise SystemExit(f"KernelBench {name} was not found in {arguments.kernelbench}")
        yield f"kernelbench {name}", found[0]


def row(arguments, name, path):
    with tempfile.TemporaryDirectory() as folder:
        code, text = common.call(arguments.cudaagent, "optimize", path, "--proposer", "builtin", "--json",
                                 "--out", f"{folder}/run", "--precision", arguments.precision,
                                 "--attempts", arguments.attempts, *arguments.flag)
    document = json.loads(text) if text.strip() else {}
    if code != 0 or "best" not in document:
        error = document.get("error", {}).get("message", "no correct candidate")
        return {"problem": name, "verdict": "failed", "exit_code": code, "message": error}, None
    evaluation = document["best"]["evaluation"]

    def milliseconds(key):
        return evaluation[key]["median_ms"] if key in evaluation else None

    return {
        "problem": name,
        "verdict": evaluation["verdict"],
        "ours_ms": milliseconds("candidate"),
        "eager_ms": milliseconds("eager"),
        "compile_ms": milliseconds("compiled_baseline"),
        "ci": [evaluation["candidate"]["ci_low_ms"], evaluation["candidate"]["ci_high_ms"]],
        "speedup_eager": evaluation.get("speedup_eager"),
        "speedup_compile": evaluation.get("speedup_compile"),
        "reward": evaluation.get("reward"),
        "attempt": document["best"]["attempt"],
        "attempts": [attempt["verdict"] for attempt in document["attempts"]],
    }, evaluation


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--kernelbench", help="a checkout's KernelBench/ folder")
    parser.add_argument("--set", required=True, choices=sorted(KERNELBENCH))
    parser.add_argument("--out", help="default: benchmarks/results/h200/builtin_<set>.json")
    parser.add_argument("--precision", default="tf32", choices=["fp32", "tf32", "torch-default"])
    parser.add_argument("--attempts", default=8, type=int)
    parser.add_argument("--only", help="only problems whose name contains this")
    parser.add_argument("--flag", action="append", default=[], help="a further word for cudaagent optimize")
    arguments = parser.parse_args()

    out = pathlib.Path(arguments.out or common.ROOT / f"benchmarks/results/h200/builtin_{arguments.set}.json")
    document = json.loads(out.read_text()) if out.exists() else {"schema": 1, "rows": []}
    done = {r["problem"] for r in document["rows"] if r["verdict"] != "failed"}
    for name, path in problems(arguments):
        if name in done or (arguments.only and arguments.only not in name):
            continue
        result, evaluation = row(arguments, name, path)
        document["rows"] = [r for r in document["rows"] if r["problem"] != name] + [result]
        if evaluation is not None:
            document.update(common.stamp(evaluation))
        common.write_json(out, document)
        print(json.dumps(result), flush=True)
    return 0 if all(r["verdict"] == "ok" for r in document["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())

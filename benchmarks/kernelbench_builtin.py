#!/usr/bin/env python3
"""`cudaagent bench --optimize --proposer builtin` over KernelBench's 250 problems: the scores, and a row a problem.

The bench folder (--work) keeps everything. --max-seconds ends a call early with exit code 3; the next one goes on
there. After every call --out holds what there is, and "finished" says whether that is all.

    benchmarks/kernelbench_builtin.py --kernelbench ~/KernelBench/KernelBench --max-seconds 1500
    benchmarks/kernelbench_builtin.py --kernelbench ... --device cpu --small --level 1 --problems 19-24 --out cpu.json
"""
import argparse
import json
import pathlib

import common

UNFINISHED = 3
P = "0,0.5,0.8,1,1.2,1.5,2,3"


def document(report, finished, wall):
    evaluated = [row["evaluation"] for row in report["rows"] if row["outcome"] == "correct"]
    timed = [evaluation for evaluation in evaluated if "candidate" in evaluation]
    stamp = common.stamp(timed[0]) if timed else {}
    return {"schema": 1, "what": "cudaagent " + " ".join(report["arguments"][1:]), "finished": finished, **stamp,
            "version": report["version"], "wall_s": round(wall, 1), "problems": len(report["problems"]),
            "scores": report["scores"], "rows": [common.bench_row(row) for row in report["rows"]]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, help="a checkout's KernelBench/ folder")
    parser.add_argument("--level", default="1,2,3")
    parser.add_argument("--problems", help="ids and ranges, as bench takes them")
    parser.add_argument("--attempts", default=6, type=int, help="of the proposer, for each problem (default 6)")
    parser.add_argument("--problem-timeout", default="5m")
    parser.add_argument("--work", help="the bench folder (default: --out without .json)")
    common.add_sweep_arguments(parser, "kernelbench_builtin.json", "bench")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    out = pathlib.Path(arguments.out)
    work = pathlib.Path(arguments.work or out.with_suffix(""))
    words = ["--suite", arguments.kernelbench, "--level", arguments.level, "--optimize", "--proposer", "builtin",
             "--attempts", arguments.attempts, "--device", arguments.device, *arguments.flag]
    if arguments.problems:
        words += ["--problems", arguments.problems]
    if arguments.small:
        constants = out.with_suffix(".const.json")
        common.write_json(constants, common.small_constants(arguments.kernelbench))
        words += ["--const-file", constants]
    code, wall = common.bench_piece(arguments.cudaagent, words, work,
                                    ["--problem-timeout", arguments.problem_timeout, "--fast-p", P],
                                    arguments.max_seconds)
    report = work / "report.json"
    if not report.exists():
        return code or 1
    before = json.loads(out.read_text())["wall_s"] if out.exists() else 0
    common.write_json(out, document(json.loads(report.read_text()), code == 0, before + wall))
    return UNFINISHED if code == 130 else code


if __name__ == "__main__":
    raise SystemExit(main())

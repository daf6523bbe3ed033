#!/usr/bin/env python3
"""Judges every candidate of kernels/hacks: hacks must get the verdict the corpus names and never a reward
above 1 (correct), honest twins must be ok. kernels/hacks/corpus.json holds one row per candidate:

    file, problem      below kernels/hacks
    small              --const values that make the problem quick on the CPU device
    gpu, cpu           verdicts it may get on a GPU, on the CPU device; null: not run there
    honest             true for a twin that must not be refused
    max_reward         the most it may earn where "ok" is an allowed verdict
    fails_strict       true: "ok" at the default tier is allowed, passing the strict tier is not
    flags              further flags of `cudaagent eval`
    catalogue          the row of the catalogue of hacks it stands for

    benchmarks/corpus.py --runs 3 --out benchmarks/results/h200/corpus.json     # on a GPU
    benchmarks/corpus.py --device cpu                                           # no GPU needed
"""
import argparse
import collections
import json
import sys

import common

CORPUS = common.ROOT / "kernels/hacks"


def judge(arguments, key, rows):
    """Evaluates the rows of one problem and flags in one warm worker; yields (row, evaluation)."""
    problem, flags, small = key
    consts = [word for value in small for word in ("--const", value)] if arguments.device == "cpu" else []
    kernels = [str(CORPUS / row["file"]) for row in rows]
    code, text = common.call(arguments.cudaagent, "eval", CORPUS / problem, *kernels, "--json", "--quiet",
                             "--device", arguments.device, "--baseline", "eager", *consts, *flags,
                             "--timeout-check", arguments.timeout, "--timeout-compile", 20)
    lines = [json.loads(line) for line in text.splitlines()] if len(kernels) > 1 else [json.loads(text)]
    if len(lines) != len(kernels):
        raise SystemExit(f"{problem}: {len(lines)} of {len(kernels)} candidates were judged (exit code {code}): "
                         f"{lines[-1] if lines else ''}")
    yield from zip(rows, lines)


def complaint(row, evaluation, device):
    """Why this verdict is not what the corpus asks for; None where it is."""
    verdict, reward = evaluation["verdict"], evaluation.get("reward")
    if verdict not in row[device]:
        return f"{verdict} instead of {' or '.join(row[device])}: {evaluation['message']}"
    if verdict != "ok":
        return None if reward is None or reward <= 0 else f"a reward of {reward} for {verdict}"
    if row.get("fails_strict"):
        strict = [tier["passed"] for tier in evaluation["check"]["tiers"] if tier["name"] == "strict"]
        return None if strict == [False] else "it passes the strict tier, or was not judged by it"
    if "max_reward" in row and device == "gpu" and reward > row["max_reward"]:
        return f"a reward of {reward} instead of at most {row['max_reward']}"
    return None


def one_run(arguments, corpus):
    device = "cpu" if arguments.device == "cpu" else "gpu"
    groups = collections.defaultdict(list)
    for row in corpus:
        if row[device] is not None and (not arguments.only or row["file"] in arguments.only):
            groups[row["problem"], tuple(row.get("flags", [])), tuple(row["small"])].append(row)
    results, stamp = [], None
    for key, rows in groups.items():
        for row, evaluation in judge(arguments, key, rows):
            wrong = complaint(row, evaluation, device)
            results.append({"file": row["file"], "catalogue": row.get("catalogue"), "honest": row["honest"],
                            "within_tolerance": bool(row.get("fails_strict")),
                            "verdict": evaluation["verdict"], "reward": evaluation.get("reward"),
                            "message": evaluation["message"], "as_wanted": wrong is None})
            print(f"{'ok  ' if wrong is None else 'FAIL'} {row['file']}: {wrong or evaluation['verdict']}", file=sys.stderr)
            stamp = stamp or common.stamp(evaluation)
    return results, stamp


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--device", default="gpu", help="gpu, gpu:N or cpu")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", action="append", help="just this file; may be repeated")
    parser.add_argument("--timeout", type=float, default=10, help="seconds until a hang is killed")
    parser.add_argument("--out", help="where the JSON goes")
    arguments = parser.parse_args()

    corpus = json.loads((CORPUS / "corpus.json").read_text())
    runs, stamp = [], None
    for _ in range(arguments.runs):
        results, stamp = one_run(arguments, corpus)
        runs.append(results)
    every = [result for run in runs for result in run]
    rewarded = sum(not r["honest"] and not r["within_tolerance"] and (r["reward"] or 0) > 1 for r in every)
    refused = sum(r["honest"] and r["verdict"] != "ok" for r in every)
    unexpected = sum(not r["as_wanted"] for r in every)
    document = {"schema": 1, **(stamp or {}), "runs": arguments.runs, "candidates": len(runs[0]),
                "hacks_rewarded": rewarded, "honest_refused": refused, "other_verdicts_than_wanted": unexpected,
                "rows": runs[0], "further_runs": [[r["verdict"] for r in run] for run in runs[1:]]}
    if arguments.out:
        common.write_json(arguments.out, document)
    print(f"{len(every)} judgements: {rewarded} hacks rewarded, {refused} honest twins refused, "
          f"{unexpected} other verdicts than wanted", file=sys.stderr)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Judges every candidate of kernels/hacks: hacks must get the verdict the corpus names and never a reward
above 1 (correct), honest twins must be ok. kernels/hacks/corpus.json holds one row per judgement:

    file, problem      below kernels/hacks; a file may have several rows with other flags
    small              --const values that make the problem quick on the CPU device
    flags              further flags of `cudaagent eval`
    timeout            seconds until a hang is killed, where less than --timeout (twice that for a compile)
    honest             true for a twin that must not be refused
    gpu, cpu           verdicts it may get on a GPU, on the CPU device; null: not run there
    max_reward         the most it may earn where "ok" is an allowed verdict
    fails_strict       true: "ok" at the default tier is allowed, passing the strict tier is not
    catalogue          the rows of the catalogue of hacks it stands for
    story              the story of the field that it enacts

    benchmarks/corpus.py --runs 3 --out benchmarks/results/h200/corpus.json     # on a GPU
    benchmarks/corpus.py --device cpu --jobs 2                                  # no GPU needed
"""
import argparse
import collections
import concurrent.futures
import json
import sys

import common

CORPUS = common.ROOT / "kernels/hacks"
# No worker judges more than this many: where several share the work, the shares are even.
ROWS_OF_A_WORKER = 24


def groups(arguments, corpus):
    """Rows that one warm worker can judge: the same problem, sizes, flags and time limit."""
    found = collections.defaultdict(list)
    for row in corpus:
        if row[kind(arguments)] is not None and (not arguments.only or row["file"] in arguments.only):
            limit = min(arguments.timeout, row.get("timeout", arguments.timeout))
            found[row["problem"], tuple(row.get("flags", [])), tuple(row["small"]), limit].append(row)
    for key, rows in found.items():
        step = len(rows) if arguments.jobs == 1 else ROWS_OF_A_WORKER
        for start in range(0, len(rows), step):
            yield key, rows[start : start + step]


def kind(arguments):
    return "cpu" if arguments.device == "cpu" else "gpu"


def judge(arguments, key, rows):
    """Evaluates the rows of a group; returns their evaluations."""
    problem, flags, small, limit = key
    consts = [word for value in small for word in ("--const", value)] if kind(arguments) == "cpu" else []
    seed = [] if arguments.seed is None else ["--seed", arguments.seed]
    kernels = [str(CORPUS / row["file"]) for row in rows]
    code, text = common.call(arguments.cudaagent, "eval", CORPUS / problem, *kernels, "--json", "--quiet",
                             "--device", arguments.device, "--baseline", "eager", *consts, *flags, *seed,
                             "--timeout-check", limit, "--timeout-compile", 2 * limit)
    lines = common.documents(text)
    if len(lines) != len(kernels):
        raise SystemExit(f"{problem}: {len(lines)} of {len(kernels)} candidates were judged (exit code {code}): "
                         f"{lines[-1] if lines else ''}")
    return lines


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
    results, stamp = {}, None
    work = list(groups(arguments, corpus))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (key, rows), lines in zip(work, pool.map(lambda group: judge(arguments, *group), work)):
            for row, evaluation in zip(rows, lines):
                wrong = complaint(row, evaluation, kind(arguments))
                name = " ".join([row["file"], *row.get("flags", [])])
                results[name] = {
                    "file": row["file"], "flags": row.get("flags", []), "catalogue": row.get("catalogue"),
                    "story": row.get("story"), "honest": row["honest"],
                    "within_tolerance": bool(row.get("fails_strict")), "verdict": evaluation["verdict"],
                    "reward": evaluation.get("reward"), "message": evaluation["message"],
                    "as_wanted": wrong is None}
                print(f"{'ok  ' if wrong is None else 'FAIL'} {name}: {wrong or evaluation['verdict']}",
                      file=sys.stderr, flush=True)
                stamp = stamp or common.stamp(evaluation)
    in_order = [" ".join([row["file"], *row.get("flags", [])]) for row in corpus]
    return [results[name] for name in in_order if name in results], stamp


def stories(results):
    """Each story of the field with the verdicts of the candidates that enact it."""
    told = {}
    for result in results:
        if result["story"]:
            story = told.setdefault(result["story"], {"story": result["story"], "caught": True, "candidates": []})
            story["candidates"].append({key: result[key] for key in ("file", "flags", "verdict", "message")})
            story["caught"] = story["caught"] and result["verdict"] != "ok"
    return list(told.values())


def summary(runs, stamp):
    every = [result for run in runs for result in run]
    return {"schema": 1, **(stamp or {}), "runs": len(runs), "candidates": len(runs[0]),
            "hacks_rewarded": sum(not r["honest"] and not r["within_tolerance"] and (r["reward"] or 0) > 1
                                  for r in every),
            "honest_refused": sum(r["honest"] and r["verdict"] != "ok" for r in every),
            "other_verdicts_than_wanted": sum(not r["as_wanted"] for r in every),
            "stories": stories(runs[0]), "rows": runs[0],
            "further_runs": [[r["verdict"] for r in run] for run in runs[1:]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--device", default="gpu", help="gpu, gpu:N or cpu")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="workers at a time; for the CPU device")
    parser.add_argument("--seed", type=int, help="where random inputs come from, to repeat them; default: nobody knows")
    parser.add_argument("--only", action="append", help="just this file; may be repeated")
    parser.add_argument("--timeout", type=float, default=10, help="seconds until a hang is killed")
    parser.add_argument("--out", help="where the JSON goes")
    arguments = parser.parse_args()

    corpus = json.loads((CORPUS / "corpus.json").read_text())
    runs, stamp = [], None
    for _ in range(arguments.runs):
        results, stamp = one_run(arguments, corpus)
        runs.append(results)
        # After each: what a later run is stopped at is not lost.
        document = summary(runs, stamp)
        if arguments.out:
            common.write_json(arguments.out, document)
    for story in document["stories"]:
        caught = "caught" if story["caught"] else "NOT CAUGHT"
        verdicts = ", ".join(c["verdict"] for c in story["candidates"])
        print(f"story: {story['story']}: {caught} ({verdicts})", file=sys.stderr)
    print(f"{sum(map(len, runs))} judgements: {document['hacks_rewarded']} hacks rewarded, "
          f"{document['honest_refused']} honest twins refused, "
          f"{document['other_verdicts_than_wanted']} other verdicts than wanted", file=sys.stderr)
    told = all(story["caught"] for story in document["stories"])
    return 0 if told and not document["other_verdicts_than_wanted"] else 1


if __name__ == "__main__":
    sys.exit(main())

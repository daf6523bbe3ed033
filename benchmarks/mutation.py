#!/usr/bin/env python3
"""A mutation check: plants one fault per mutant into correct candidates and counts how many the verification finds.

Candidates are listed in benchmarks/mutation/sources.json: what the built-in rules wrote for benchmarks/problems,
honest twins of kernels/hacks, and a few written by hand. benchmarks/mutators.py plants the faults; the same --count
and --seed give the same mutants. A mutant does not count where it does not compile, where its plan is refused before
anything ran, or where PTX and plan are those of the original. Detected is any verdict but "ok". Survivors are listed
with the line that changed and the explanation that benchmarks/mutation/survivors.json has for them; those it shows to
be equivalent (no input tells them from the original) are listed apart and not counted. Of reduced_precision, mutants
that pass the deciding tier and fail the strict one are reported apart too, as found by the strict tier.

    benchmarks/mutation.py --out benchmarks/results/h200/mutation.json    # on a GPU
    benchmarks/mutation.py --device cpu --count 60                        # no GPU needed
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import sys
import tempfile

import common
import mutators

FOLDER = common.ROOT / "benchmarks/mutation"
# No judgement of the candidate: it does not count.
NOT_JUDGED = {"compile_failed", "unsupported", "infra_error"}


def load_sources(problem=None):
    """Rows of sources.json with their names and texts; of one problem only where it is named."""
    sources = json.loads((FOLDER / "sources.json").read_text())
    for source in sources:
        path = common.ROOT / source["kernel"]
        source["name"] = f"{path.parent.name}/{path.stem}"
        source["text"] = path.read_text()
    return [s for s in sources if problem is None or pathlib.Path(s["problem"]).stem == problem]


def code_of(evaluation):
    """The PTX of an evaluation without what a moved line or column changes; None where there is none."""
    path = evaluation.get("compile", {}).get("ptx_path")
    if not path or not pathlib.Path(path).exists():
        return None
    text = pathlib.Path(path).read_text(errors="replace")
    text = text.split("\t.section\t.debug", 1)[0]
    lines = (line.split("//", 1)[0].strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith((".loc", ".file")))


def judge(arguments, source, mutants):
    """Evaluates a source and its mutants in one warm worker; returns their evaluations, the source's first."""
    on_gpu = arguments.device != "cpu"
    sizes = source.get("gpu", source["cpu"]) if on_gpu else source["cpu"]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, text in enumerate([source["text"], *(mutant["text"] for mutant in mutants)]):
            files.append(pathlib.Path(folder, f"{number:03}.cu"))
            files[-1].write_text(text)
        code, text = common.call(
            arguments.cudaagent, "eval", common.ROOT / source["problem"], *files, "--json", "--quiet", "--check-only",
            "--device", arguments.device, *(word for size in sizes for word in ("--const", size)),
            "--precision", "fp32", "--seed", arguments.seed, "--timeout-check", arguments.timeout)
    lines = common.documents(text)
    if len(lines) != len(files) or lines[0]["verdict"] != "ok":
        raise SystemExit(f"{source['name']}: {len(lines)} of {len(files)} candidates were judged (exit code {code}); the "
                         f"original: {json.dumps(lines[0])[:400] if lines else 'nothing'}")
    return lines


def strict_failed(evaluation):
    return any(tier["name"] == "strict" and not tier["passed"] for tier in evaluation.get("check", {}).get("tiers", []))


def outcome(original, evaluation, original_text, text):
    """What a mutant's evaluation means: "uncounted", "detected", "strict" (by that tier alone) or "survived"."""
    if evaluation["verdict"] in NOT_JUDGED or evaluation.get("stage") == "parse":
        return "uncounted"
    if evaluation["verdict"] == "bad_candidate" and evaluation.get("stage") in ("compile", "load"):
        return "uncounted"
    plan = [source[: mutators.plan_end(source)] for source in (original_text, text)]
    ptx = [code_of(original), code_of(evaluation)]
    if plan[0] == plan[1] and ptx[0] is not None and ptx[0] == ptx[1]:
        return "uncounted"
    if evaluation["verdict"] != "ok":
        return "detected"
    return "strict" if strict_failed(evaluation) else "survived"


def share(detected, counted):
    return round(detected / counted, 4) if counted else None


def summary(rows, explanations):
    """The document's figures. `rows`: id, operator, outcome, verdict, line, before, after."""
    known = {row["id"]: explanations.get(row["id"], {}) for row in rows}
    judged = [row for row in rows if row["outcome"] != "uncounted"]
    equivalent = [row for row in judged if row["outcome"] in ("survived", "strict") and known[row["id"]].get("equivalent")]
    counted = [row for row in judged if row not in equivalent]
    # Cutting digits that a tolerance allows is no fault to that tolerance; the strict tier is there to tell.
    tolerated = [row for row in counted if row["outcome"] == "strict" and row["operator"] == "reduced_precision"]
    detected = [row for row in counted if row["outcome"] == "detected"]

    def survivors(of):
        return [{**{key: row[key] for key in ("id", "line", "before", "after")},
                 "strict_tier": "fails" if row["outcome"] == "strict" else "passes",
                 "explanation": known[row["id"]].get("explanation", "")} for row in of]

    operators = collections.defaultdict(lambda: {"counted": 0, "detected": 0, "strict_only": 0})
    for row in counted:
        of_operator = operators[row["operator"]]
        of_operator["counted"] += 1
        of_operator["detected"] += row["outcome"] == "detected"
        of_operator["strict_only"] += row in tolerated
    missed = [row for row in counted if row["outcome"] != "detected" and row not in tolerated]
    return {"generated": len(rows), "counted": len(counted), "detected": len(detected),
            "strict_only": len(tolerated), "survived": len(missed), "equivalent": len(equivalent),
            "share": share(len(detected) + len(tolerated), len(counted)),
            "share_by_the_deciding_tier": share(len(detected), len(counted)),
            "share_with_equivalents": share(len(detected) + len(tolerated), len(counted) + len(equivalent)),
            "verdicts": dict(collections.Counter(row["verdict"] for row in counted).most_common()),
            "by_operator": dict(operators), "survivors": survivors(missed),
            "unexplained": [row["id"] for row in missed if not known[row["id"]].get("explanation")],
            "found_by_the_strict_tier_alone": survivors(tolerated), "equivalent_mutants": survivors(equivalent)}


def judge_all(arguments, sources, chosen):
    by_name = {source["name"]: source for source in sources}
    work = collections.defaultdict(list)
    for name, mutant in chosen:
        work[name].append(mutant)
    rows, stamp = [], None
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        batches = pool.map(lambda name: judge(arguments, by_name[name], work[name]), work)
        for (name, mutants), lines in zip(work.items(), batches):
            stamp = stamp or common.stamp(lines[0])
            for mutant, evaluation in zip(mutants, lines[1:]):
                found = outcome(lines[0], evaluation, by_name[name]["text"], mutant["text"])
                rows.append({**{key: mutant[key] for key in ("id", "operator", "line", "before", "after")},
                             "outcome": found, "verdict": evaluation["verdict"], "message": evaluation["message"]})
                if found in ("survived", "strict"):
                    print(f"{found} {mutant['id']}: {mutant['before']}  =>  {mutant['after']}", file=sys.stderr)
            print(f"{name}: {sum(r['outcome'] == 'detected' for r in rows[-len(mutants):])} of {len(mutants)} detected "
                  f"({len(rows)} of {len(chosen)} done)", file=sys.stderr, flush=True)
    return rows, stamp


def again_on_the_cpu_device(arguments, sources, chosen, document):
    """What the CPU device says of the survivors: races that a GPU's timing hides are races all the same."""
    missed = {row["id"] for row in document["survivors"]}
    if arguments.device == "cpu" or not missed:
        return
    on_cpu = argparse.Namespace(**{**vars(arguments), "device": "cpu"})
    rows, _ = judge_all(on_cpu, sources, [pair for pair in chosen if pair[1]["id"] in missed])
    found = {row["id"]: row["message"] for row in rows if row["outcome"] == "detected"}
    for row in document["survivors"]:
        if row["id"] in found:
            row["cpu_device"] = found[row["id"]]
    document["survivors_that_the_cpu_device_finds"] = len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--device", default="gpu", help="gpu, gpu:N or cpu")
    parser.add_argument("--count", type=int, default=280, help="mutants to make")
    parser.add_argument("--seed", type=int, default=1, help="which ones, and where random inputs come from")
    parser.add_argument("--problem", help="mutants of this problem's candidates only")
    parser.add_argument("--jobs", type=int, default=2, help="workers at a time")
    parser.add_argument("--timeout", type=float, default=10, help="seconds until a hang is killed")
    parser.add_argument("--list", action="store_true", help="print the mutants and judge none")
    parser.add_argument("--out", help="where the JSON goes")
    arguments = parser.parse_args()

    sources = load_sources(arguments.problem)
    if not sources:
        raise SystemExit(f"benchmarks/mutation/sources.json has no candidate for the problem {arguments.problem}")
    chosen = mutators.choose([(source["name"], source["text"]) for source in sources], arguments.count, arguments.seed)
    if arguments.list:
        for _, mutant in chosen:
            print(f"{mutant['id']}: {mutant['before']}  =>  {mutant['after']}")
        return 0
    rows, stamp = judge_all(arguments, sources, chosen)
    explanations = json.loads((FOLDER / "survivors.json").read_text())
    document = {"schema": 1, **(stamp or {}), "seed": arguments.seed, **summary(rows, explanations)}
    again_on_the_cpu_device(arguments, sources, chosen, document)
    document["mutants"] = [{key: row[key] for key in ("id", "outcome", "verdict")} for row in rows]
    if arguments.out:
        common.write_json(arguments.out, document)
    print(f"{document['counted']} mutants counted, {document['detected']} detected and {document['strict_only']} more by "
          f"the strict tier alone ({document['share']:.1%}); {document['survived']} survived "
          f"({len(document['unexplained'])} unexplained), {document['equivalent']} more are equivalent", file=sys.stderr)
    return 0 if document["share"] >= 0.98 and not document["unexplained"] else 1


if __name__ == "__main__":
    sys.exit(main())

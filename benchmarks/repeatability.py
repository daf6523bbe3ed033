#!/usr/bin/env python3
"""How far the figures can be trusted. Four parts, each on its own with --part:

    workers   one kernel timed in 20 fresh workers: (max - min) / median of the medians, wanted at most 1 %
    ncu       the span of five kernels from 20 us to 10 ms against gpu__time_duration of `ncu --clock-control none`,
              which looks at the same cubins in processes that hold nothing of cudaagent: wanted within 3 %
    graph     a graph of 50 kernels of about 1 us: its span against CUDA events of the same graph in a process that holds
              nothing of cudaagent and no tracing, with as cold a cache: wanted at most 6 % below them and, as tracing must
              not stretch it, not above
    aa        200 comparisons of one kernel with itself by `cudaagent compare`: FASTER or SLOWER in at most 5 %. One
              warm worker judges 60 copies that differ in a comment; the pairs are drawn from them with a fixed seed,
              each pair once. Pairs share evaluations, so 200 of them weigh less than 200 independent ones.

    benchmarks/repeatability.py                                       # results/h200/repeatability.json
    benchmarks/repeatability.py --part workers,aa
    benchmarks/repeatability.py --device cpu --workers 3 --evaluations 6 --pairs 10 --out /tmp/r.json     # a dry run

A part that was not run keeps what the file had of it. Without ncu, or where it is not permitted, its part says so.
"""
import argparse
import concurrent.futures
import csv
import io
import itertools
import json
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import common

HACKS = common.ROOT / "kernels/hacks"
FOLDER = common.ROOT / "benchmarks/repeatability"
PARTS = ["workers", "ncu", "graph", "aa"]


def elementwise(kernel, problem, rows):
    elements = rows * 4096
    return {"kernel": kernel, "problem": problem, "const": [f"rows={rows}", "columns=4096"],
            "launch": ["--grid", -(-elements // 256), "--block", 256, "--inputs", elements, "--output", elements,
                       "--long", elements, *(["--normal"] if problem == "gelu.py" else [])]}


def matmul(size):
    return {"kernel": "honest_matmul.cu", "problem": "matmul.py",
            "const": [f"rows={size}", f"inner={size}", f"columns={size}"],
            "launch": ["--grid", size // 16, size // 16, "--block", 16, 16, "--inputs", size * size, size * size,
                       "--output", size * size, "--ints", size, size, size]}


def layer_norm(rows):
    return {"kernel": "honest_layer_norm.cu", "problem": "layer_norm.py", "const": [f"rows={rows}", "columns=4096"],
            "launch": ["--grid", rows, "--block", 256, "--inputs", rows * 4096, 4096, 4096, "--output", rows * 4096,
                       "--ints", 4096, "--normal"]}


# On an H200 about 20 us, 0.1 ms, 0.5 ms, 2 ms and 10 ms.
NCU_KERNELS = [elementwise("honest_relu.cu", "relu.py", 2560), layer_norm(8192),
               elementwise("honest_tanh_gelu.cu", "gelu.py", 65536), matmul(1792), matmul(3072)]


def evaluate(arguments, problem, kernels, const=(), small=()):
    """Evaluations of kernels of one problem, in one warm worker."""
    sizes = small if arguments.device == "cpu" else const
    code, text = common.call(arguments.cudaagent, "eval", HACKS / "problems" / problem, *kernels, "--json", "--quiet",
                             "--device", arguments.device, "--baseline", "eager", "--precision", "fp32",
                             *(word for size in sizes for word in ("--const", size)))
    found = common.documents(text)
    for evaluation in found:
        if evaluation.get("verdict") != "ok":
            raise SystemExit(f"{problem} {[str(k) for k in kernels][:2]}: {json.dumps(evaluation)[:600]}")
    if len(found) != len(kernels):
        raise SystemExit(f"{problem}: {len(found)} of {len(kernels)} evaluations came back (exit code {code})")
    return found


def spread(medians):
    """(max - min) / median."""
    return (max(medians) - min(medians)) / statistics.median(medians)


def workers(arguments):
    def fresh(number):
        (evaluation,) = evaluate(arguments, "layer_norm.py", [HACKS / "honest_layer_norm.cu"],
                                 ["rows=16384", "columns=4096"], ["rows=16", "columns=512"])
        print(f"worker {number + 1} of {arguments.workers}: {evaluation['candidate']['median_ms']:.6f} ms",
              file=sys.stderr, flush=True)
        return evaluation

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        found = list(pool.map(fresh, range(arguments.workers)))
    medians, evaluation = [each["candidate"]["median_ms"] for each in found], found[0]
    return {"workers": len(medians), "medians_ms": medians, "median_ms": statistics.median(medians),
            "spread": spread(medians), "wanted": 0.01, "passed": spread(medians) <= 0.01}, evaluation


def entry_name(ptx_path, kernel):
    """The mangled name of the only kernel of that name in a PTX file."""
    names = re.findall(r"\.entry\s+([\w$]+)", pathlib.Path(ptx_path).read_text(errors="replace"))
    found = [name for name in names if name == kernel or name.startswith(f"_Z{len(kernel)}{kernel}")]
    if len(found) != 1:
        raise SystemExit(f"{ptx_path} has no single kernel {kernel}: {', '.join(names)}")
    return found[0]


def ncu_durations(text):
    """Milliseconds of gpu__time_duration.sum, one per launch, from `ncu --csv`; what stands around it is skipped."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    units = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0, "s": 1e3, "second": 1e3}
    return [float(row["Metric Value"].replace(",", "")) * units[row["Metric Unit"]]
            for row in csv.DictReader(io.StringIO("\n".join(lines[start:])))
            if row.get("Metric Name") == "gpu__time_duration.sum"]


def launch_words(evaluation, launch):
    compiled = evaluation["compile"]
    return [sys.executable, str(FOLDER / "launch_cubin.py"), compiled["cubin_path"],
            entry_name(compiled["ptx_path"], "f"), *map(str, launch)]


def ncu_median(arguments, evaluation, launch):
    """Median milliseconds by ncu, or a sentence that says why there is none."""
    program = shutil.which(arguments.ncu)
    if program is None:
        return f"{arguments.ncu} is not installed"
    words = [program, "--clock-control", "none", "--cache-control", "all", "--metrics", "gpu__time_duration.sum",
             "--kernel-name", "f", "--launch-skip", "3", "--launch-count", "20", "--csv", "--print-units", "base",
             *launch_words(evaluation, launch)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    found = ncu_durations(done.stdout)
    if not found:
        return f"ncu gave no duration (exit code {done.returncode}): {(done.stdout + done.stderr).strip()[-300:]}"
    return statistics.median(found)


def ncu(arguments):
    rows, evaluation = [], None
    for kernel in NCU_KERNELS:
        (evaluation,) = evaluate(arguments, kernel["problem"], [HACKS / kernel["kernel"]], kernel["const"],
                                 [f"{size.split('=')[0]}=32" for size in kernel["const"]])
        row = {"kernel": kernel["kernel"], "const": kernel["const"], "span_ms": evaluation["candidate"]["median_ms"],
               "clock": evaluation["candidate"]["clock"]}
        answer = "the CPU device has no GPU to profile"
        if arguments.device != "cpu":
            answer = ncu_median(arguments, evaluation, kernel["launch"])
        if isinstance(answer, str):
            row["ncu"] = answer
        else:
            row.update(ncu_ms=answer, difference=row["span_ms"] / answer - 1)
        rows.append(row)
        print(f"ncu: {json.dumps(row)}", file=sys.stderr, flush=True)
    seen = [abs(row["difference"]) for row in rows if "difference" in row]
    return {"kernels": rows, "largest_difference": max(seen) if seen else None, "wanted": 0.03,
            "passed": max(seen) <= 0.03 if len(seen) == len(rows) else None}, evaluation


def graph(arguments):
    size = ["rows=16", "columns=512"]
    (evaluation,) = evaluate(arguments, "relu.py", [FOLDER / "fifty_steps.cu"], size, size)
    timing = evaluation["candidate"]
    result = {"nodes": 50, "span_ms": timing["median_ms"], "clock": timing["clock"],
              "captured": evaluation["protocol"]["graph"], "wanted": 0.06, "passed": None}
    if "event_ms" in timing:
        result["event_ms_while_tracing"] = timing["event_ms"]
    if arguments.device != "cpu":
        words = [*launch_words(evaluation, ["--grid", 32, "--block", 256, "--inputs", 8192, "--output", 8192, "--long",
                                            8192]), "--nodes", "50", "--times", "200"]
        for name, flush in (("event_ms", ["--flush", str(1 << 25)]), ("event_ms_after_memset", [])):
            done = subprocess.run(words + flush, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != 0:
                result["events"] = f"no figure: {done.stderr.strip()[-300:]}"
                break
            result[name] = float(done.stdout)
        if "event_ms" in result:
            result["below_events"] = 1 - result["span_ms"] / result["event_ms"]
            result["passed"] = 0 <= result["below_events"] <= 0.06
    print(f"graph: {json.dumps(result)}", file=sys.stderr, flush=True)
    return result, evaluation


def draw_pairs(count, pairs, seed):
    """`pairs` different pairs of `count` evaluations, each in random order; all there are where that is fewer."""
    order = random.Random(seed)
    every = list(itertools.combinations(range(count), 2))
    return [tuple(order.sample(pair, 2)) for pair in order.sample(every, min(pairs, len(every)))]


def aa_summary(relations):
    counts = {word: relations.count(word) for word in ("faster", "slower", "same", "unsure")}
    wrong = (counts["faster"] + counts["slower"]) / len(relations)
    return {"pairs": len(relations), **counts, "share": wrong, "wanted": 0.05, "passed": wrong <= 0.05}


def aa(arguments):
    source = (HACKS / "honest_layer_norm.cu").read_text()
    with tempfile.TemporaryDirectory() as folder:
        kernels = []
        for number in range(arguments.evaluations):
            kernels.append(pathlib.Path(folder, f"{number}.cu"))
            kernels[-1].write_text(f"{source}// copy {number} of {folder}\n")
        found = evaluate(arguments, "layer_norm.py", kernels, ["rows=8192", "columns=4096"],
                         ["rows=16", "columns=512"])
        files = []
        for number, evaluation in enumerate(found):
            files.append(pathlib.Path(folder, f"{number}.json"))
            files[-1].write_text(json.dumps(evaluation))

        def compare(pair):
            _, text = common.call(arguments.cudaagent, "compare", files[pair[0]], files[pair[1]], "--json")
            return json.loads(text)["relation"]

        drawn = draw_pairs(len(found), arguments.pairs, seed=1)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            relations = list(pool.map(compare, drawn))
    medians = [evaluation["candidate"]["median_ms"] for evaluation in found]
    result = {"evaluations": len(found), "spread": spread(medians), **aa_summary(relations)}
    print(f"aa: {json.dumps(result)}", file=sys.stderr, flush=True)
    return result, found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--device", default="gpu", help="gpu, gpu:N or cpu, which shows that the script works")
    parser.add_argument("--part", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="workers that start at once; one times at a time")
    parser.add_argument("--evaluations", type=int, default=60, help="of the A/A part")
    parser.add_argument("--pairs", type=int, default=200, help="of the A/A part")
    parser.add_argument("--ncu", default="ncu", help="the program")
    parser.add_argument("--out", default=str(common.ROOT / "benchmarks/results/h200/repeatability.json"))
    arguments = parser.parse_args()
    chosen = arguments.part.split(",")
    if unknown := set(chosen) - set(PARTS):
        raise SystemExit(f"unknown part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")

    out = pathlib.Path(arguments.out)
    document = json.loads(out.read_text()) if out.exists() else {}
    for part in chosen:
        result, evaluation = globals()[part](arguments)
        document.update({"schema": 1, **common.stamp(evaluation), part: result})
        common.write_json(out, document)
    failed = [part for part in chosen if document[part]["passed"] is False]
    missing = [part for part in chosen if document[part]["passed"] is None]
    print(f"passed: {', '.join(p for p in chosen if document[p]['passed']) or 'none'}; failed: "
          f"{', '.join(failed) or 'none'}; not measured: {', '.join(missing) or 'none'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

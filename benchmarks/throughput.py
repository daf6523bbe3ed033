#!/usr/bin/env python3
"""How many candidates an hour `cudaagent bench --candidates` judges: 200 over 20 problems of KernelBench, and, for
three kernels that both sides can run, KernelBench's own evaluator on the same GPU.

1. Not timed: `bench --optimize --proposer builtin` finds a kernel for each problem (--work/base).
2. Ten variants of each, alike in what they compute: other minimum blocks in __launch_bounds__, and a text of their
   own, so that none is in the cubin cache (--work/candidates).
3. Timed: one `bench --candidates` over all, program start to last row (--work/scored). "known_baselines" says that
   torch.compile's times come from step 1: they are measured once for each problem, however many candidates there are.
4. With --kernelbench-src DIR (a checkout's src/ folder): benchmarks/throughput/NAME.cu through `cudaagent eval` and
   NAME.py, the same kernel as a ModelNew, through eval_kernel_against_ref; wall seconds of the processes. Nothing
   is cached: each gets an empty folder for what it compiles.

Each step goes on where it was when the script is called again; --max-seconds ends step 1 early (exit code 3). Step 3
is one piece: a part of it would not be its rate.

    benchmarks/throughput.py --kernelbench ~/KernelBench/KernelBench --kernelbench-src ~/KernelBench/src
    benchmarks/throughput.py --kernelbench ... --device cpu --small --problems 19_ReLU,26_GELU_ --out cpu.json
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import common

UNFINISHED = 3
PROBLEMS = ("19_ReLU,21_Sigmoid,23_Softmax,24_LogSoftmax,26_GELU_,30_Softsign,36_RMSNorm_,38_L1Norm_,40_LayerNorm,"
            "47_Sum_reduction_over_a_dimension,48_Mean_reduction_over_a_dimension,89_cumsum,"
            "1_Conv2D_ReLU_BiasAdd,9_Matmul_Subtract_Multiply_ReLU,12_Gemm_Multiply_LeakyReLU,"
            "37_Matmul_Swish_Sum_GroupNorm,76_Gemm_Add_ReLU,99_Matmul_GELU_Softmax,1_MLP,43_MinGPTCausalAttention")
BOTH_SIDES = {"19_ReLU": "relu", "47_Sum_reduction_over_a_dimension": "sum", "76_Gemm_Add_ReLU": "bias_relu"}
HERE = pathlib.Path(__file__).resolve().parent


def model(arguments, name):
    found = [path for level in (1, 2, 3)
             for path in pathlib.Path(arguments.kernelbench, f"level{level}").glob(f"{name}.py")]
    if len(found) != 1:
        raise SystemExit(f"{name}.py was not found in {arguments.kernelbench}")
    return found[0]


def variant(source, number):
    """The same kernel as another text and, where it states its threads, with another minimum of blocks."""
    def bounds(match):
        threads = int(match.group(1))
        return f"__launch_bounds__({threads}, {number % max(1, 2048 // threads) + 1})"
    return re.sub(r"__launch_bounds__\((\d+)\)", bounds, source) + f"// variant {number}\n"


def write_candidates(arguments, base, folder):
    """{problem: kernel's origin} of what step 1 found."""
    shutil.rmtree(folder, ignore_errors=True)
    written = {}
    for row in json.loads((base / "report.json").read_text())["rows"]:
        kernel = base / "best" / (row["problem"] + ".cu")
        if row["outcome"] != "correct" or not kernel.exists():
            continue
        written[row["problem"]] = row["origin"]
        source = kernel.read_text()
        for number in range(arguments.samples):
            file = folder / f"{row['problem']}_sample_{number}.cu"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(variant(source, number))
    return written


def bench_rate(arguments, work, suite):
    """Steps 1 to 3; None where step 1 is not finished."""
    cache = ["--cache-dir", work / "cache"]
    code, _ = common.bench_piece(arguments.cudaagent, [*suite, "--optimize", "--proposer", "builtin",
                                                       "--attempts", arguments.attempts],
                                 work / "base", cache, arguments.max_seconds)
    if code == 130:
        return None
    if code:
        raise SystemExit(f"step 1 ended with exit code {code}")
    origins = write_candidates(arguments, work / "base", work / "candidates")
    shutil.rmtree(work / "scored", ignore_errors=True)
    code, wall = common.bench_piece(arguments.cudaagent, [*suite, "--candidates", work / "candidates"],
                                    work / "scored", cache)
    if code:
        raise SystemExit(f"step 3 ended with exit code {code}")
    report = json.loads((work / "scored/report.json").read_text())
    judged = [row for row in report["rows"] if row["outcome"] != "no_candidate"]
    evaluations = [row["evaluation"] for row in judged if "evaluation" in row]
    stages = collections.Counter()
    for evaluation in evaluations:
        stages.update(evaluation["seconds"])
    return {**common.stamp(next(each for each in evaluations if each["verdict"] == "ok")),
            "candidates": len(judged), "problems": len(origins), "origins": collections.Counter(origins.values()),
            "outcomes": collections.Counter(row["outcome"] for row in judged),
            "from_cubin_cache": sum(bool(each["compile"].get("cached")) for each in evaluations),
            "known_baselines": True, "wall_s": round(wall, 2), "seconds_each": round(wall / len(judged), 3),
            "candidates_an_hour": round(3600 * len(judged) / wall, 1),
            "stage_seconds": {name: round(value, 1) for name, value in sorted(stages.items())},
            "rows": [{"problem": row["problem"], "sample": row["sample"], "outcome": row["outcome"],
                      "seconds": round(row["seconds"], 3)} for row in judged]}


def timed(words, environment, limit):
    """Wall seconds, exit code and last line of stdout."""
    started = time.monotonic()
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, check=False,
                          timeout=limit, env={**os.environ, **environment})
    lines = done.stdout.strip().splitlines()
    return round(time.monotonic() - started, 2), done.returncode, lines[-1] if lines else ""


def both_sides(arguments, rate):
    rows = []
    for name, kernel in BOTH_SIDES.items():
        problem = model(arguments, name)
        with tempfile.TemporaryDirectory() as folder:
            ours, code, text = timed([arguments.cudaagent, "eval", problem, HERE / f"throughput/{kernel}.cu", "--json",
                                      "--quiet", "--precision", "fp32", "--device", arguments.device,
                                      *(["--check-only"] if arguments.device == "cpu" else [])],
                                     {"CUDAAGENT_CACHE_DIR": f"{folder}/cache"}, 900)
            row = {"problem": name, "ours_eval_s": ours, "ours_exit_code": code}
            if arguments.kernelbench_src:
                theirs, code, text = timed([arguments.python, HERE / "throughput/kernelbench_eval.py",
                                            arguments.kernelbench_src, problem, HERE / f"throughput/{kernel}.py",
                                            f"{folder}/build"], {}, 1800)
                result = json.loads(text) if text.startswith("{") else {"error": text}
                row |= {"kernelbench_s": theirs, "kernelbench_exit_code": code, "kernelbench": result}
                if code == 0 and rate:
                    row["times_in_bench"] = round(theirs / rate["seconds_each"], 1)
                    row["times_cold_eval"] = round(theirs / ours, 1)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
    return rows


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelbench", required=True, help="a checkout's KernelBench/ folder")
    parser.add_argument("--kernelbench-src", help="a checkout's src/ folder: its evaluator is timed too")
    parser.add_argument("--python", default=sys.executable, help="the Python, with torch, that runs the evaluator")
    parser.add_argument("--problems", default=PROBLEMS, help="names of the problems' files, with commas")
    parser.add_argument("--samples", default=10, type=int, help="candidates for each problem (default 10)")
    parser.add_argument("--attempts", default=3, type=int, help="of the built-in proposer in step 1 (default 3)")
    parser.add_argument("--only", choices=["bench", "sides"], help="one half of it; the other is kept from --out")
    parser.add_argument("--work", help="where everything is kept (default: --out without .json)")
    common.add_sweep_arguments(parser, "throughput.json", "bench")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    out = pathlib.Path(arguments.out)
    work = pathlib.Path(arguments.work or out.with_suffix(""))
    work.mkdir(parents=True, exist_ok=True)
    for name in arguments.problems.split(","):
        model(arguments, name)
    suite = ["--suite", arguments.kernelbench, "--level", "1,2,3", "--problems", arguments.problems,
             "--device", arguments.device, *arguments.flag]
    if arguments.small:
        wanted = set(arguments.problems.split(","))
        constants = {key: value for key, value in common.small_constants(arguments.kernelbench).items()
                     if key.split("/")[1] in wanted}
        common.write_json(work / "const.json", constants)
        suite += ["--const-file", work / "const.json"]
    document = json.loads(out.read_text()) if out.exists() else {"schema": 1}
    if arguments.only != "sides":
        rate = bench_rate(arguments, work, suite)
        if rate is None:
            print("step 1 is not finished; call again to go on", file=sys.stderr)
            return UNFINISHED
        document["bench"] = rate
        common.write_json(out, document)
    if arguments.only != "bench":
        document["same_kernels"] = both_sides(arguments, document.get("bench"))
        common.write_json(out, document)
    print(json.dumps({key: value for key, value in document.get("bench", {}).items() if key != "rows"}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

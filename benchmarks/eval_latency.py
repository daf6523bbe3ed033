#!/usr/bin/env python3
"""How long one evaluation takes with a warm worker, and how fast a dead worker is replaced.

Small: ReLU of 64 x 393216. Large: ReLU of 4096 x 393216 (6.4 GB in, 6.4 GB out). Every candidate is
textually new, so each is compiled (the cubin cache never hits). An evaluation is: parse, compile, 5 trials
of verification, timing interleaved with eager. `total` is what the driver waited, measured by itself.

    benchmarks/eval_latency.py --out eval_latency.json
"""
import argparse
import json
import pathlib
import sys
import tempfile

import common

RELU = """/*cudaagent
{{ "plan": 1,
  "steps": [
    {{"kernel": "relu4", "grid": ["ceil_div(x.numel, 1024)"], "block": [256],
     "args": ["$x", "$out0", {{"i64": "x.numel / 4"}}]}} ] }}
*/
// Variant {variant} of one latency run: new text, so a new compile.
__global__ void relu4(const float4* __restrict__ x, float4* __restrict__ y, long long n) {{
  const long long i = blockIdx.x * {block}LL + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float4(fmaxf(v.x, 0.f), fmaxf(v.y, 0.f), fmaxf(v.z, 0.f), fmaxf(v.w, 0.f));
}}
"""
FAULT = RELU.replace("y[i] = make", "if (i == 7) asm volatile(\"trap;\");\n  y[i] = make")
HANG = RELU.replace("y[i] = make", "while (reinterpret_cast<volatile const float4*>(x) != nullptr) {{}}\n  y[i] = make")


def evaluations(arguments, folder, name, sources, *flags):
    paths = []
    for number, source in enumerate(sources):
        path = pathlib.Path(folder, f"{name}-{number}.cu")
        path.write_text(source.format(variant=f"{name} {number} of {folder}", block=256))
        paths.append(path)
    code, text = common.call(arguments.cudaagent, "eval", common.ROOT / "benchmarks/latency/relu.py", *paths,
                             "--json", "--baseline", "eager", *flags, *arguments.flag)
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    if len(rows) != len(paths):
        raise SystemExit(f"{name}: {len(rows)} of {len(paths)} evaluations came back (exit code {code})")
    print(f"{name}: {[round(row['seconds']['total'], 3) for row in rows]}", file=sys.stderr, flush=True)
    return rows


def worker_start(arguments):
    """Seconds from starting a worker on the GPU to its hello: imports and an open device."""
    _, text = common.call(arguments.cudaagent, "doctor", "--json")
    found = [f for f in json.loads(text)["findings"] if f["name"].startswith("worker on gpu")]
    if not found or "seconds" not in found[0]:
        raise SystemExit("no worker on a GPU: " + text)
    return found[0]["seconds"]


def summary(rows):
    wrong = [r for r in rows if r["verdict"] != "ok"]
    if wrong:
        raise SystemExit(f"an evaluation failed: {wrong[0]['verdict']}: {wrong[0]['message']}")
    rows = rows[1:]  # the first one warms the worker
    totals = [r["seconds"]["total"] for r in rows]
    stages = {stage: common.percentile([r["seconds"].get(stage, 0) for r in rows], 50)
              for stage in sorted({s for r in rows for s in r["seconds"]})}
    return {"n": len(rows), "p50_s": common.percentile(totals, 50), "p95_s": common.percentile(totals, 95),
            "stages": stages, "candidate_ms": rows[-1]["candidate"]["median_ms"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--out", default=str(common.ROOT / "benchmarks/results/h200/eval_latency.json"))
    parser.add_argument("--count", type=int, default=41, help="evaluations per size; the first warms up")
    parser.add_argument("--small-only", action="store_true", help="skip the 6.4 GB size")
    parser.add_argument("--flag", action="append", default=[], help="a further word for cudaagent eval")
    arguments = parser.parse_args()
    document = {"schema": 1, "worker_start_s": worker_start(arguments)}
    with tempfile.TemporaryDirectory() as folder:
        def save(**part):
            document.update(part, **common.stamp(small[-1]))
            common.write_json(arguments.out, document)

        small = evaluations(arguments, folder, "small", [RELU] * arguments.count)
        save(small=summary(small))
        if not arguments.small_only:
            large = evaluations(arguments, folder, "large", [RELU] * arguments.count, "--const", "batch_size=4096")
            save(large=summary(large))
        for name, source, verdict in (("fault", FAULT, "device_fault"), ("hang", HANG, "timed_out")):
            rows = evaluations(arguments, folder, name, [RELU, source, RELU], "--timeout-check", "3")
            if [r["verdict"] for r in rows] != ["ok", verdict, "ok"]:
                raise SystemExit(f"{name}: verdicts {[r['verdict'] for r in rows]}")
            # From the dead worker's end to the next one ready with the problem loaded.
            save(**{f"respawn_after_{name}_s": rows[2]["seconds"]["worker_wait"]})
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()

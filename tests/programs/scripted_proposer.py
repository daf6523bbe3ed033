#!/usr/bin/env python3
"""A proposer for `--command` whose every answer follows from its prompt: softmax kernels of many block sizes,
and among them the faults a model makes. For tests and benchmarks/kill_resume.py, on benchmarks/problems/softmax.py.

    scripted_proposer.py [--delay SECONDS] [--count N]
"""
import argparse
import re
import sys
import time

KERNEL = """/*cudaagent
{{ "plan": 1,
  "steps": [
    {{"kernel": "softmax<{block}>", "grid": ["x.size(0)"], "block": [{block}],
     "args": ["$x", "$out0", {{"i32": "x.size(1)"}}]}}
  ]
}}
*/
template <int BLOCK>
__device__ float reduce(float value, float* shared, bool want_max) {{
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {{
    if (threadIdx.x < half) {{
      const float other = shared[threadIdx.x + half];
      shared[threadIdx.x] = want_max ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }}
    __syncthreads();
  }}
  const float result = shared[0];
  __syncthreads();
  return result;
}}

// One block per row; {passes} passes over it.
template <int BLOCK>
__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int columns) {{
  __shared__ float shared[BLOCK];
  const float* row = x + static_cast<long long>(blockIdx.x) * columns;
  float* out = y + static_cast<long long>(blockIdx.x) * columns;
  float largest = -INFINITY;
  for (int pass = 0; pass < {passes}; ++pass) {{
    for (int i = threadIdx.x; i < columns; i += BLOCK) largest = fmaxf(largest, row[i]);
  }}
  largest = reduce<BLOCK>(largest, shared, true);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += BLOCK) sum += __expf(row[i] - largest);
  sum = reduce<BLOCK>(sum, shared, false);
  for (int i = threadIdx.x; i < columns; i += BLOCK) out[i] = __expf(row[i] - largest) / sum{spoiled};
}}
"""


def kernel(block, passes=1, spoiled=""):
    return f"Blocks of {block} threads, {passes} passes.\n\n```cuda\n" + \
        KERNEL.format(block=block, passes=passes, spoiled=spoiled) + "```\n"


ANSWERS = [
    kernel(64, passes=3),
    "I would first have to know more about the shapes.",
    kernel(64),
    kernel(128, spoiled=" + 0.01f"),
    kernel(128).replace("__expf(row[i] - largest) / sum", "__expf(row[i] - biggest) / sum"),
    kernel(128),
    kernel(2048),
    kernel(512, passes=2),
    kernel(256).replace('"$out0"', '"$out1"'),
    kernel(256),
    kernel(512),
    kernel(32),
    kernel(256, passes=4),
    kernel(1024),
    kernel(128, passes=2),
    kernel(64, spoiled=" * 2"),
    kernel(1024, passes=2),
    kernel(32, passes=2),
    kernel(512, spoiled=";;"),
    kernel(64, passes=2),
]


def next_attempt(prompt):
    """The number of the attempt that is asked for: one after the last of the history."""
    history = prompt.split("# Attempts so far", 1)[1]
    return max(map(int, re.findall(r"^- (\d+) \(", history, re.MULTILINE)), default=-1) + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0, help="seconds before the answer")
    parser.add_argument("--count", type=int, default=len(ANSWERS), help="answers before there are none")
    arguments = parser.parse_args()
    number = next_attempt(sys.stdin.read()) - 1  # attempt 0 is the baseline
    time.sleep(arguments.delay)
    if number < arguments.count:
        sys.stdout.write(ANSWERS[number % len(ANSWERS)])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What share of a pile of CUDA kernels the CPU device loads and runs, and which instructions it lacks.

Takes folders (or bare git directories) of .cu, .cuh and .py files, cuts out the device code of each (declarations that
mention __global__, __device__ or __constant__, types, macros; host code goes), instantiates kernel templates with plain
arguments, compiles with NVRTC for sm_90a and hands the PTX to ptx_probe. What does not compile is no kernel of this
count. The sources and the PTX stay under --work, which is not committed.

  ninja -C build/release ptx_probe && benchmarks/ptx_coverage.py --probe build/release/bin/ptx_probe FOLDER...
"""
import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

from common import ROOT, write_json
from nvrtc import CompileError, Nvrtc

HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "cooperative_groups/scan.h", "cuda_fp8.h", "mma.h", "cooperative_groups.h", "cooperative_groups/reduce.h",
           "cooperative_groups/memcpy_async.h", "cuda_pipeline.h", "cuda/pipeline", "cuda/barrier", "math_constants.h",
           "vector_types.h", "cub/cub.cuh", "cuda/atomic", "cuda/std/limits")
PRELUDE = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define INT_MAX 2147483647
#define DBL_MAX 1.7976931348623158e+308
#define UINT_MAX 4294967295u
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT1_2 0.70710678118654752440
#define C10_RESTRICT __restrict__
typedef unsigned int uint; typedef unsigned char uchar; typedef unsigned short ushort;
typedef unsigned char uint8_t; typedef signed char int8_t; typedef unsigned short uint16_t; typedef short int16_t;
typedef unsigned int uint32_t; typedef int int32_t; typedef unsigned long long uint64_t; typedef long long int64_t;
"""


def sources(place):
    """(name, text) of the files below `place` that hold kernels; a bare git directory is read at its HEAD.
    Quoted includes are put in by their base name."""
    place = pathlib.Path(place)
    suffixes, texts = (".cu", ".cuh", ".h", ".hpp", ".py"), {}
    if (place / "HEAD").exists():
        git = ["git", "-C", str(place)]
        names = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], stdout=subprocess.PIPE, text=True, check=True)
        for name in names.stdout.splitlines():
            if name.endswith(suffixes):
                shown = subprocess.run([*git, "show", f"HEAD:{name}"], stdout=subprocess.PIPE, check=False)
                texts[f"{place.parent.name}/{name}"] = shown.stdout.decode(errors="replace")
    else:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and path.suffix in suffixes:
                texts[str(path)] = path.read_text(errors="replace")
    by_base = collections.defaultdict(list)
    for name in texts:
        if name.endswith((".h", ".hpp", ".cuh")):
            by_base[name.rsplit("/", 1)[-1]].append(name)

    def put_in(name, text, done):
        def one(match):
            base = match.group(1).rsplit("/", 1)[-1]
            if not by_base[base]:
                return match.group(0)
            nearest = max(by_base[base], key=lambda other: len(os.path.commonprefix([name, other])))
            if nearest in done:
                return ""
            done.add(nearest)
            return put_in(nearest, texts[nearest], done)
        return re.sub(r'^\s*#\s*include\s*"([^"]+)"', one, text, flags=re.M)

    for name, text in texts.items():
        if not name.endswith((".h", ".hpp")) and "__global__" in text:
            yield name, put_in(name, text, {name}) if name.endswith((".cu", ".cuh")) else text


def cuda_texts(name, text):
    """The CUDA in a file: itself, or the string literals of a Python file."""
    if "__global__" not in text:
        return
    if name.endswith((".cu", ".cuh")):
        yield text
        return
    for match in re.finditer(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'', text, re.S):
        literal = match.group(1) or match.group(2) or ""
        if "__global__" in literal:
            yield literal


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def items(text):
    """Top-level declarations and preprocessor lines, in order."""
    at, start, depth, out = 0, 0, 0, []
    while at < len(text):
        c = text[at]
        if c == "#" and depth == 0 and not text[start:at].strip():
            end = at
            while True:
                end = text.find("\n", end)
                if end < 0:
                    end = len(text)
                if end == len(text) or text[end - 1] != "\\":
                    break
                end += 1
            out.append(text[at:end])
            at = start = end
            continue
        if c in "\"'":
            end = at + 1
            while end < len(text) and text[end] != c and text[end] != "\n":
                end += 2 if text[end] == "\\" else 1
            at = end + 1
            continue
        if c in "{(":
            depth += 1
        elif c in "})":
            depth -= 1
            if depth < 0:
                depth = 0
        if depth == 0 and (c == ";" or (c == "}" and not re.match(r"\s*[;,=]|\s*\w+\s*;", text[at + 1:at + 80]))):
            out.append(text[start:at + 1].strip())
            start = at + 1
        at += 1
    return out


def wanted(item):
    if item.startswith("#"):
        include = re.match(r"#\s*include\s*[<\"]([^>\"]+)", item)
        return include.group(1) in HEADERS if include else not re.match(r"#\s*(pragma once|error|undef)", item)
    head = item[:item.find("{")] if "{" in item else item
    if re.search(r"__global__|__device__|__constant__|DEVICE_INLINE|CUDA_CALLABLE", item):
        return not re.search(r"torch::|at::|std::vector|cudaMalloc|cudaStream|<<<", item)
    if re.search(r"<<<|torch|std::|at::|cuda[A-Z]\w+\(|#include|main\s*\(", item):
        return False
    return bool(re.match(r"(template\s*<[^;{]*>\s*)?(struct|union|enum|typedef|using|constexpr|static constexpr|const|static const|namespace\s+\w+\s*=|using)",
                         head.strip()))


def argument(parameter):
    """A plain argument for one template parameter; None where its default stands."""
    parameter = parameter.strip()
    if "=" in parameter:
        return None
    words = parameter.replace("const", "").split()
    if not words:
        return None
    kind, name = words[0], words[-1].lower()
    if kind in ("typename", "class"):
        return "float"
    if kind == "bool":
        return "true"
    if "head" in name or "dim" in name or name in ("bm", "bn", "k"):
        return "64" if "head" in name or "dim" in name else "32"
    return "32" if "size" in name or "threads" in name or "tile" in name or "block" in name else "4"


def kernels(text):
    """Name expressions of the kernels: templates with arguments made up."""
    found = []
    for match in re.finditer(r"(template\s*<([^;{}]*?)>\s*)?(?:static\s+|extern\s+\"C\"\s+|inline\s+)*__global__\s+"
                             r"(?:static\s+)?(?:void\s+)?(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?(?:void\s+)?(\w+)\s*\(", text):
        if match.group(1):
            arguments = [argument(p) for p in re.split(r",(?![^<(]*[>)])", match.group(2))]
            found.append(f"{match.group(3)}<{', '.join(a for a in arguments if a is not None)}>")
        else:
            found.append(match.group(3))
    return list(dict.fromkeys(name for name in found if name != "void"))


def compile_each(nvrtc, text, work, key):
    """Paths of the PTX of what compiles, and how many kernels there are. Kept in `work`: compiling is the slow part."""
    kept = [item for item in items(without_comments(text)) if wanted(item)]
    code = PRELUDE + "\n".join(kept) + "\n"
    names = kernels(code)
    tried = work / f"{key}.tried"
    if not tried.exists() and names:
        def attempt(source, expressions, number):
            try:
                (work / f"{key}_{number}.ptx").write_text(nvrtc.ptx(source, expressions))
                return True
            except CompileError:
                return False
        if not attempt(code, names, 0):
            for number, name in enumerate(names[:12]):
                # Without the other kernels: one that does not compile must not hide the rest.
                bare = name.split("<")[0]
                alone = [item for item in kept if "__global__" not in item or re.search(rf"\b{bare}\s*\(", item)]
                attempt(PRELUDE + "\n".join(alone) + "\n", [name], number)
    tried.touch()
    return sorted(work.glob(f"{key}_*.ptx")), len(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+", help="folders, files or bare git directories")
    parser.add_argument("--probe", default=str(ROOT / "build/release/bin/ptx_probe"), help="the program ptx_probe")
    parser.add_argument("--work", default=str(ROOT / "build/ptx_coverage"), help="where sources' PTX goes")
    parser.add_argument("--budget", type=int, default=50_000_000, help="thread instructions of each trial launch")
    parser.add_argument("--limit", type=int, default=0, help="files per place, 0 = all")
    parser.add_argument("--output", default=str(ROOT / "benchmarks/results/cpu/ptx_coverage.json"))
    options = parser.parse_args()
    nvrtc = Nvrtc()
    work = pathlib.Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    found, rows, per_place, seen = 0, [], collections.Counter(), set()
    for place in options.places:
        files = 0
        bare = (pathlib.Path(place) / "HEAD").exists()
        place_name = (pathlib.Path(place).parent if bare else pathlib.Path(place)).name
        for name, text in sources(place):
            for cuda in cuda_texts(name, text):
                key = hashlib.sha256(cuda.encode()).hexdigest()[:16]
                if key in seen or (options.limit and files >= options.limit):
                    continue
                seen.add(key)
                files += 1
                compiled, count = compile_each(nvrtc, cuda, work, key)
                found += count
                for path in compiled:
                    done = subprocess.run([options.probe, "load", str(path), "--launch", "--budget", str(options.budget)],
                                          stdout=subprocess.PIPE, text=True, check=False)
                    if done.returncode != 0:
                        rows.append({"file": str(path), "load": "crashed", "said": f"exit code {done.returncode}"})
                    for line in done.stdout.splitlines():
                        if '{"file":' not in line:  # what a kernel printed
                            continue
                        row = json.loads(line[line.index('{"file":'):])
                        row["source"] = name
                        rows.append(row)
                        per_place[place_name] += 1
                print(f"{name}: {len(compiled)} modules, {len(rows)} kernels so far", file=sys.stderr, flush=True)
    loads = collections.Counter(row["load"] for row in rows)
    missing = collections.Counter()
    for row in rows:
        if row["load"] != "ok":
            words = re.search(r"PTX instruction (\S+)", row["said"])
            missing[words.group(1) if words else row["said"][:90]] += 1
    runs = collections.Counter(row["run"] for row in rows if "run" in row)
    races = [row["source"] + ": " + row["said"] for row in rows if ": a race" in row.get("said", "")]
    write_json(options.output, {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "method": "kernels of public and own sources that NVRTC compiles for sm_90a; launched once, 1 block of at most 128 "
                  "threads, pointers to 1 MiB of zeros, integers 64: a fault of the kernel counts as run",
        "kernels_found_in_sources": found, "kernels_compiled": len(rows), "per_source": per_place.most_common(),
        "loaded": loads["ok"], "loaded_share": round(loads["ok"] / max(1, len(rows)), 4), "load": loads.most_common(),
        "launched": runs.most_common(), "missing": missing.most_common(40), "races_found": races})
    (work / "rows.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs `cudaagent optimize --proposer builtin` over KernelBench at small sizes, to find candidates that are
wrong. Sizes are the problem's module constants, made smaller by their names (--const); where a problem does not
load with the smallest ones, larger ones are tried. Rows are written as they come; rows already there are kept.

    benchmarks/builtin_sweep.py --kernelbench ~/KernelBench/KernelBench --out sweep.json --device cpu
"""
import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import common

# Names whose value may shrink to the first number, then, where that does not load, to the second.
SHRINK = [
    (r"batch|num_samples", 2, 4),
    (r"^(height|width|depth|length|size|dim\d|seq|sequence_length|seq_len|seq_length|max_seqlen|input_(height|width|"
     r"size|length)|image_size|img_size|[hwdl]|height_in|width_in)", 24, 64),
    (r"features|hidden|dim|channels|size|classes|^[mnk]$|^ni$|embed", 64, 256),
    (r"num_layers|depth|layers", 2, 4),
]


def constants(path):
    values = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                values[node.targets[0].id] = eval(  # trusted: the problem itself is run anyway
                    compile(ast.Expression(node.value), "", "eval"), {}, dict(values))
            except Exception:
                pass
    return values


def shrunk(path, level):
    words = []
    for name, value in constants(path).items():
        if type(value) is not int:
            continue
        for pattern, *sizes in SHRINK:
            if re.search(pattern, name, re.IGNORECASE):
                if value > sizes[level]:
                    words += ["--const", f"{name}={sizes[level]}"]
                break
    return words


def attempt(arguments, path, words):
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.cudaagent, "optimize", str(path), "--proposer", "builtin", "--json", "--quiet", "--out",
                   f"{folder}/run", "--device", arguments.device, "--trials", "2", "--attempts", "4",
                   "--timeout-load", "120", *words, *arguments.flag]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=arguments.seconds)
        except subprocess.TimeoutExpired:
            return {"exit_code": None, "message": f"took more than {arguments.seconds} s"}
        text = result.stdout.strip()
        document = json.loads(text) if text.startswith("{") else {}
        row = {"exit_code": result.returncode, "const": words[1::2]}
        if "error" in document or "attempts" not in document:
            row["message"] = document.get("error", {}).get("message", result.stderr[-300:])
            return row
        row["attempts"] = [{"verdict": a["verdict"], "message": a.get("message", "")[:300], "note": a.get("note", "")}
                           for a in document["attempts"]]
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_argument(parser)
    parser.add_argument("--kernelbench", required=True, help="a checkout's KernelBench/ folder")
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", default=240, type=int, help="for one problem")
    parser.add_argument("--only", default="", help="a regular expression on names such as 1/19")
    parser.add_argument("--flag", action="append", default=[], help="a further word for cudaagent optimize")
    arguments = parser.parse_args()

    out = pathlib.Path(arguments.out)
    rows = {r["problem"]: r for r in json.loads(out.read_text())["rows"]} if out.exists() else {}
    bad = 0
    for level in (1, 2, 3):
        folder = pathlib.Path(arguments.kernelbench, f"level{level}")
        for path in sorted(folder.glob("*.py"), key=lambda p: int(p.name.split("_")[0])):
            name = f"{level}/{path.name.split('_')[0]}"
            if name in rows or not re.fullmatch(arguments.only or ".*", name):
                continue
            row = {}
            for size in (0, 1):
                row = attempt(arguments, path, shrunk(path, size))
                if "attempts" in row:
                    break
            rows[name] = {"problem": name, **row}
            verdicts = [a["verdict"] for a in row.get("attempts", [])]
            bad += any(v not in ("ok", "skipped") for v in verdicts[1:])
            common.write_json(out, {"schema": 1, "rows": list(rows.values())})
            print(name, verdicts or row.get("message"), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

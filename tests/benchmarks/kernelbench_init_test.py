"""benchmarks/kernelbench_init.py with a stand-in for cudaagent."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/kernelbench_init.py"
# Answers by the problem's number; notes every call, and what ran beside it, in $NOTES.
STAND_IN = """#!/usr/bin/env python3
import json, os, pathlib, sys, time
notes = pathlib.Path(os.environ["NOTES"])
number = pathlib.Path(sys.argv[2]).name.split("_")[0]
beside = len(list(notes.glob("running.*")))
mark = notes / f"running.{os.getpid()}"
mark.touch()
with open(notes / "calls", "a") as calls:
    calls.write(" ".join([number, str(beside), *sys.argv[3:]]) + "\\n")
time.sleep(float(os.environ.get("PAUSE", "0.05")))
mark.unlink()
evaluation = {"verdict": "ok", "message": "", "device": {"name": "H200"}, "extra_bytes": 3 << 20,
              "protocol": {"graph": number != "2", "note": ""}}
code = 0
if number == "3":
    evaluation, code = {"error": {"code": "environment", "message": "forward draws random numbers (aten::randn), ..."}}, 6
if number == "4":
    evaluation["verdict"], evaluation["message"], code = "wrong_result", "out0 differs", 4
if number == "5" and beside:
    evaluation["verdict"], evaluation["message"], code = "out_of_memory", "no room", 4
if number == "6":
    time.sleep(60)
if number == "7":
    sys.exit(-1)
print(json.dumps(evaluation))
sys.exit(code)
"""


class KernelBenchInitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "cudaagent"
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        self.out = self.folder / "out.json"

    def problems(self, *names):
        for name in names:
            level, number = name.split("/")
            folder = self.folder / f"bench/level{level}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}_Problem.py").write_text("")

    def words(self, *more):
        return [sys.executable, str(SCRIPT), "--kernelbench", str(self.folder / "bench"), "--cudaagent",
                str(self.program), "--out", str(self.out), *more]

    def environment(self, **more):
        return {**os.environ, "NOTES": str(self.folder), **more}

    def sweep(self, *more, **environment):
        done = subprocess.run(self.words(*more), env=self.environment(**environment), capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def rows(self):
        return {row["problem"]: row for row in json.loads(self.out.read_text())["rows"]}

    def calls(self):
        return [line.split() for line in (self.folder / "calls").read_text().splitlines()]

    def test_every_kind_of_end_is_a_row(self):
        self.problems("1/1", "1/2", "1/3", "1/4", "1/6", "1/7", "2/9")
        code, said = self.sweep("--timeout", "2")
        self.assertEqual(code, 1, said)
        rows = self.rows()
        self.assertEqual({name: row["verdict"] for name, row in rows.items()},
                         {"1/1": "ok", "1/2": "ok", "1/3": "random", "1/4": "wrong_result", "1/6": "timed_out",
                          "1/7": "exit_255", "2/9": "degenerate"})
        self.assertEqual([rows["1/1"]["captured"], rows["1/2"]["captured"], rows["1/4"]["captured"]],
                         [True, False, None])
        self.assertEqual(rows["1/1"]["extra_mib"], 3)
        document = json.loads(self.out.read_text())
        self.assertEqual(document["schema"], 1)
        self.assertEqual(document["device"]["name"], "H200")
        self.assertEqual(document["summary"]["captured"], 2)
        self.assertFalse(self.out.with_suffix(".jsonl").exists())

    def test_rows_are_in_order_of_their_numbers(self):
        self.problems("1/10", "1/2", "2/1")
        self.sweep()
        self.assertEqual(list(self.rows()), ["1/2", "1/10", "2/1"])

    def test_what_runs_out_of_memory_beside_others_is_tried_alone(self):
        self.problems("1/1", "1/2", "1/5", "1/8")
        code, said = self.sweep("--jobs", "4", PAUSE="0.5")
        self.assertEqual(code, 0, said)
        tries = [call for call in self.calls() if call[0] == "5"]
        self.assertEqual(tries[-1][1], "0")
        self.assertEqual(self.rows()["1/5"]["verdict"], "ok")

    def test_killed_in_the_middle_it_goes_on_and_ends_the_same(self):
        self.problems(*(f"1/{number}" for number in (1, 2, 3, 8, 9, 10, 11, 12)))
        driver = subprocess.Popen(self.words("--jobs", "1"), env=self.environment(PAUSE="0.3"),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        log = self.out.with_suffix(".jsonl")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (log.exists() and log.read_text().count("problem") >= 3):
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        with open(log, "a") as torn:
            torn.write('{"problem": "1/12", "verd')
        before = len(self.calls())
        code, said = self.sweep("--jobs", "2")
        self.assertEqual(code, 0, said)
        self.assertEqual(len(self.rows()), 8)
        self.assertLess(len(self.calls()) - before, 8)
        first = self.rows()
        self.out.rename(self.folder / "first.json")
        code, said = self.sweep("--against", str(self.folder / "first.json"))
        self.assertEqual(code, 0, said)
        verdicts = [{name: row["verdict"] for name, row in rows.items()} for rows in (first, self.rows())]
        self.assertEqual(*verdicts)

    def test_a_differing_verdict_is_an_error(self):
        self.problems("1/1")
        self.sweep()
        document = json.loads(self.out.read_text())
        document["rows"][0]["verdict"] = "wrong_result"
        other = self.folder / "other.json"
        other.write_text(json.dumps(document))
        code, said = self.sweep("--against", str(other))
        self.assertEqual(code, 1)
        self.assertIn("1/1: wrong_result before, ok now", said)

    def test_it_stops_by_itself_and_says_how_much_is_left(self):
        self.problems("1/1", "1/2", "1/8", "1/9")
        code, said = self.sweep("--jobs", "1", "--max-seconds", "0.1", PAUSE="0.3")
        self.assertEqual(code, 3)
        self.assertIn("problems left; call again", said)
        self.assertFalse(self.out.exists())
        self.assertEqual(self.sweep()[0], 0)
        self.assertEqual(len(self.rows()), 4)

    def test_small_sizes_are_constants_of_the_problem(self):
        self.problems("1/19")
        self.sweep("--small", "--device", "cpu")
        call = self.calls()[0]
        self.assertIn("--const", call)
        self.assertIn("--check-only", call)
        self.assertIn("cpu", call)

    def test_an_unknown_problem_is_named(self):
        self.problems("1/1")
        code, said = self.sweep("--problems", "1/1,1/99")
        self.assertEqual(code, 1)
        self.assertIn("1/99 was not found", said)


if __name__ == "__main__":
    unittest.main()

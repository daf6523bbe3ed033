"""kernels/hacks/corpus.json is whole, and benchmarks/corpus.py judges verdicts as it says."""
import argparse
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import corpus  # noqa: E402

ROWS = json.loads((ROOT / "kernels/hacks/corpus.json").read_text())
# What device code alone can do of the catalogue of hacks of the field.
OPEN_TO_DEVICE_CODE = set("T7 T8 T9 T10 T11 C1 C2 C3 C7 M1 M2 M4 M5 M6 M7 M8 W1 W2 W3 W4 W5 W6 W7 W8 P1 P3 F3 F6 "
                          "F7 F8".split())
STORIES = {"memory reuse", "TF32 against fp32", "LayerNorm by copy", "ReLU by identity", "zeros on KernelBench 1/23",
           "persisting L2"}


def result(**changes):
    return {"file": "a.cu", "flags": [], "catalogue": None, "story": None, "honest": False, "within_tolerance": False,
            "verdict": "wrong_result", "reward": -1.0, "message": "", "as_wanted": True, **changes}


class CorpusFileTest(unittest.TestCase):
    def test_every_candidate_has_a_row_and_every_row_a_candidate(self):
        self.assertEqual({row["file"] for row in ROWS},
                         {path.name for path in (ROOT / "kernels/hacks").glob("*.cu")})
        for row in ROWS:
            self.assertTrue((ROOT / "kernels/hacks" / row["problem"]).exists(), row)

    def test_no_judgement_is_there_twice(self):
        names = [(row["file"], *row.get("flags", [])) for row in ROWS]
        self.assertEqual(len(names), len(set(names)))

    def test_every_hack_open_to_device_code_is_tried(self):
        tried = {word for row in ROWS for word in row.get("catalogue", "").split()}
        self.assertEqual(OPEN_TO_DEVICE_CODE - tried, set())

    def test_every_story_of_the_field_is_enacted(self):
        self.assertEqual({row["story"] for row in ROWS if "story" in row}, STORIES)

    def test_a_hack_that_may_be_ok_has_a_bound(self):
        for row in ROWS:
            if not row["honest"] and "ok" in row["gpu"]:
                self.assertTrue("max_reward" in row or row.get("fails_strict"), row)
            if row["honest"]:
                self.assertEqual(row["gpu"], ["ok"], row)

    def test_there_are_as_many_as_promised(self):
        self.assertGreaterEqual(sum(not row["honest"] for row in ROWS), 40)
        self.assertGreaterEqual(sum(row["honest"] for row in ROWS), 12)


class JudgementTest(unittest.TestCase):
    ROW = {"file": "a.cu", "gpu": ["wrong_result"], "cpu": ["wrong_result"], "honest": False}

    def test_another_verdict_is_a_complaint(self):
        self.assertIsNone(corpus.complaint(self.ROW, {"verdict": "wrong_result", "reward": -1}, "gpu"))
        self.assertIn("ok instead of wrong_result",
                      corpus.complaint(self.ROW, {"verdict": "ok", "reward": 1, "message": ""}, "gpu"))

    def test_a_reward_for_a_failure_is_a_complaint(self):
        self.assertIn("a reward of 2", corpus.complaint(self.ROW, {"verdict": "wrong_result", "reward": 2}, "gpu"))

    def test_a_reward_above_the_most_is_a_complaint_on_a_gpu(self):
        row = {**self.ROW, "gpu": ["ok"], "cpu": ["ok"], "max_reward": 1}
        evaluation = {"verdict": "ok", "reward": 3, "message": ""}
        self.assertIn("at most 1", corpus.complaint(row, evaluation, "gpu"))
        self.assertIsNone(corpus.complaint(row, evaluation, "cpu"))

    def test_what_may_pass_the_tolerance_must_fail_the_strict_tier(self):
        row = {**self.ROW, "gpu": ["ok"], "fails_strict": True}
        for passed, wanted in ((False, True), (True, False)):
            evaluation = {"verdict": "ok", "reward": 1, "message": "",
                          "check": {"tiers": [{"name": "strict", "passed": passed}]}}
            self.assertEqual(corpus.complaint(row, evaluation, "gpu") is None, wanted)

    def test_the_summary_counts_rewards_refusals_and_stories(self):
        runs = [[result(story="memory reuse"), result(verdict="ok", reward=3, as_wanted=False),
                 result(honest=True, verdict="wrong_result", as_wanted=False),
                 result(within_tolerance=True, verdict="ok", reward=3, story="LayerNorm by copy")]]
        document = corpus.summary(runs, None)
        self.assertEqual((document["hacks_rewarded"], document["honest_refused"],
                          document["other_verdicts_than_wanted"]), (1, 1, 2))
        self.assertEqual({story["story"]: story["caught"] for story in document["stories"]},
                         {"memory reuse": True, "LayerNorm by copy": False})

    def test_rows_with_the_same_conditions_share_a_worker(self):
        arguments = argparse.Namespace(device="cpu", only=None, timeout=10, jobs=1)
        shared = [len(rows) for _, rows in corpus.groups(arguments, ROWS)]
        self.assertEqual(sum(shared), sum(row["cpu"] is not None for row in ROWS))
        self.assertGreater(max(shared), corpus.ROWS_OF_A_WORKER)
        arguments.jobs = 2
        self.assertLessEqual(max(len(rows) for _, rows in corpus.groups(arguments, ROWS)), corpus.ROWS_OF_A_WORKER)


if __name__ == "__main__":
    unittest.main()

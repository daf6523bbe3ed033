"""The statistics of benchmarks/repeatability.py, and what it reads of other programs."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import common  # noqa: E402
import repeatability  # noqa: E402

NCU = '''==PROF== Connected to process 1
0.123456
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","1","f","gpu__time_duration.sum","nsecond","2,500"
"1","1","f","gpu__time_duration.sum","ns","3500"
"2","1","f","gpu__cycles.sum","cycle","99"
'''


class RepeatabilityTest(unittest.TestCase):
    def test_the_spread_is_the_range_over_the_median(self):
        self.assertAlmostEqual(repeatability.spread([1.0, 1.01, 0.99]), 0.02)
        self.assertEqual(repeatability.spread([2.0]), 0.0)

    def test_pairs_differ_and_are_the_same_each_time(self):
        pairs = repeatability.draw_pairs(60, 200, seed=1)
        self.assertEqual(pairs, repeatability.draw_pairs(60, 200, seed=1))
        self.assertEqual(len({frozenset(pair) for pair in pairs}), 200)
        self.assertTrue(all(a != b and 0 <= min(a, b) and max(a, b) < 60 for a, b in pairs))
        self.assertTrue(any(a > b for a, b in pairs) and any(a < b for a, b in pairs))
        self.assertEqual(len(repeatability.draw_pairs(4, 200, seed=1)), 6)

    def test_faster_and_slower_count_against_it(self):
        summary = repeatability.aa_summary(["same"] * 190 + ["unsure"] * 4 + ["faster"] * 3 + ["slower"] * 3)
        self.assertEqual((summary["share"], summary["passed"]), (0.03, True))
        self.assertFalse(repeatability.aa_summary(["same"] * 90 + ["faster"] * 10)["passed"])

    def test_durations_of_ncu_are_milliseconds(self):
        durations = repeatability.ncu_durations(NCU)
        self.assertEqual([round(value, 9) for value in durations], [0.0025, 0.0035])
        self.assertEqual(repeatability.ncu_durations("==ERROR== not permitted\n"), [])

    def test_an_entry_is_found_by_its_plain_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.ptx")
            path.write_text(".visible .entry _Z1fPKfPfx(\n.visible .entry _Z5countv(\n")
            self.assertEqual(repeatability.entry_name(path, "f"), "_Z1fPKfPfx")
            with self.assertRaises(SystemExit):
                repeatability.entry_name(path, "g")

    def test_documents_stand_one_after_the_other(self):
        self.assertEqual(common.documents('{"a": 1}\n{\n "b": 2}\n\n'), [{"a": 1}, {"b": 2}])
        self.assertEqual(common.documents(" \n"), [])


if __name__ == "__main__":
    unittest.main()

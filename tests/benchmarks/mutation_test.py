"""benchmarks/mutators.py plants one fault, and benchmarks/mutation.py counts what became of it."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import mutation  # noqa: E402
import mutators  # noqa: E402

PLAN = '/*cudaagent\n{"steps": [{"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "args": [{"f32": 1e-5}]}]}\n*/\n'
CODE = PLAN + """// if (i < n) in a comment
__global__ void f(const float* x, const float* bias, float* y, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 256) s += x[i];
  __syncthreads();
  const float z = s * 0.5f + bias[i];
  if (i < n) y[i] = z;
}
"""


def changes(operator, text=CODE):
    return [(m["before"], m["after"]) for m in mutators.mutants_of("t", text, operator)]


def row(outcome, operator="dropped_sync", number=1, verdict="ok"):
    return {"id": f"t:{operator}:{number}:1", "operator": operator, "outcome": outcome, "verdict": verdict, "line": number,
            "before": "a", "after": "b"}


class MutatorsTest(unittest.TestCase):
    def test_operators_plant_what_they_are_named_for(self):
        self.assertIn(("__syncthreads();", ";"), changes(mutators.dropped_sync))
        self.assertIn(("if (i < n) y[i] = z;", "if (i <= n) y[i] = z;"), changes(mutators.off_by_one_bound))
        self.assertIn(("const float z = s * 0.5f + bias[i];", "const float z = s * 0.5f;"),
                      changes(mutators.missing_bias))
        self.assertIn(("float s = 0;", "float s = 1.0f;"), changes(mutators.wrong_initial_value))
        self.assertTrue(any("ceil_div(x.numel, 256) - 1" in after for _, after in changes(mutators.wrong_grid)))
        self.assertTrue(any('"f32": 0.01' in after for _, after in changes(mutators.wrong_constant)))
        self.assertTrue(any("ffff0000" in after for _, after in changes(mutators.reduced_precision)))

    def test_comments_are_left_alone(self):
        for operator in mutators.OPERATORS:
            for mutant in mutators.mutants_of("t", CODE, operator):
                self.assertIn("// if (i < n) in a comment", mutant["text"])

    def test_a_mutant_differs_in_one_line_only(self):
        for source in mutation.load_sources():
            for operator in mutators.OPERATORS:
                for mutant in mutators.mutants_of(source["name"], source["text"], operator):
                    pairs = zip(source["text"].splitlines(), mutant["text"].splitlines())
                    self.assertEqual(sum(a != b for a, b in pairs), 1, mutant["id"])

    def test_the_choice_is_the_same_each_time_and_touches_every_operator(self):
        sources = [(s["name"], s["text"]) for s in mutation.load_sources()]
        first, again = (mutators.choose(sources, 280, seed=1) for _ in range(2))
        self.assertEqual(first, again)
        self.assertEqual(len({m["id"] for _, m in first}), 280)
        self.assertEqual({m["operator"] for _, m in first}, {operator.__name__ for operator in mutators.OPERATORS})
        self.assertGreater(len({name for name, _ in first}), 0.9 * len(sources))


class OutcomeTest(unittest.TestCase):
    def evaluation(self, verdict, ptx, **more):
        path = pathlib.Path(self.folder, f"{abs(hash(ptx))}.ptx")
        path.write_text(ptx)
        return {"verdict": verdict, "compile": {"ptx_path": str(path)}, **more}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_moved_columns_and_comments_are_no_difference(self):
        original = self.evaluation("ok", "\t.loc 1 2 3\n\tadd.f32 %f1; // a\n")
        same = self.evaluation("ok", "\t.loc 1 2 9\n\tadd.f32 %f1;\n")
        self.assertEqual(mutation.outcome(original, same, PLAN + "a", PLAN + "b"), "uncounted")
        other_plan = PLAN.replace("256", "128")
        self.assertEqual(mutation.outcome(original, same, PLAN + "a", other_plan + "a"), "survived")

    def test_verdicts_decide(self):
        original = self.evaluation("ok", "a")
        strict = {"tiers": [{"name": "strict", "passed": False}]}
        for verdict, wanted, more in (("wrong_result", "detected", {}), ("compile_failed", "uncounted", {}),
                                      ("ok", "survived", {}), ("ok", "strict", {"check": strict}),
                                      ("bad_candidate", "uncounted", {"stage": "parse"})):
            evaluation = self.evaluation(verdict, "b", **more)
            self.assertEqual(mutation.outcome(original, evaluation, PLAN, PLAN), wanted)

    def test_the_summary_keeps_equivalents_and_the_strict_tier_apart(self):
        rows = [row("detected", number=1, verdict="wrong_result"), row("survived", number=2), row("survived", number=3),
                row("strict", "reduced_precision", 4), row("uncounted", number=5), row("strict", number=6)]
        document = mutation.summary(rows, {"t:dropped_sync:2:1": {"equivalent": True, "explanation": "because"},
                                           "t:dropped_sync:3:1": {"explanation": "missed"}})
        self.assertEqual((document["counted"], document["detected"], document["strict_only"], document["survived"],
                          document["equivalent"]), (4, 1, 1, 2, 1))
        self.assertEqual(document["share"], 0.5)
        self.assertEqual(document["share_by_the_deciding_tier"], 0.25)
        self.assertEqual(document["unexplained"], ["t:dropped_sync:6:1"])


if __name__ == "__main__":
    unittest.main()

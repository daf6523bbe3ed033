// Sentences of ParseCandidate: what is wrong, where, and what would be right.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "candidate/problem_fixture.h"

namespace cudaagent::candidate {
namespace {

constexpr const char* kLinear =
    R"("steps": [{"op": "aten::linear", "args": ["$x", "$fc.weight", null], "out": "out0"}])";

std::string ParseComplaint(const std::string& source) {
  auto parsed = ParseCandidate(source);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().verdict, Verdict::kBadCandidate);
  return parsed.error().message;
}

TEST(ParseCandidateTest, ReadsEveryPartOfAPlan) {
  const std::string source = MakeSource(R"j(
    // a comment
    "tune": {"B": [256, 128], "A": [-1]}, "tuned": {"B": 128},
    "require": ["x.size(0) % 4 == 0"],
    "buffers": {"tmp": {"dtype": "float16", "shape": ["x.size(0)", 4], "zero": true, "when": "B > 1"}},
    "prepared": {"wp": {"dtype": "float32", "shape": [2]}},
    "prepare": [{"op": "aten::clone", "args": ["$fc.weight"], "out": "wp"}],
    "precision": {"matmul": "fp32", "conv": "tf32"},
    "compile": {"std": "c++20", "fast_math": true, "maxrregcount": 64, "include": []},
    "steps": [
      {"kernel": "a::f<B, {B / 2}, float>", "grid": ["x.numel / B", 2, 1], "block": 128,
       "shared_bytes": "B * 4", "cooperative": true, "when": "A < 0",
       "args": ["$x", {"ptr": "$out0", "offset": "4", "strided": true}, {"i32": "B"}, {"i64": 5},
                {"u32": {"expr": "n"}}, {"f32": 0.5}, {"f64": "-inf"}, {"bool": true}, {"f16": 1}]},
      {"op": "aten::max.dim", "args": ["$x", 1, [1, {"expr": "B"}, "$x"], "float32", null, true, 1.5,
       "-inf"], "kwargs": {"keepdim": false}, "out": ["m", null]},
      {"repeat": "i", "from": 1, "count": "n", "steps": [
        {"op": "aten::add_.default", "args": ["$layers.{i}.w", 1]}]}])j");
  auto parsed = ParseCandidate(source);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->code, source);
  const Plan& plan = parsed->plan;
  ASSERT_EQ(plan.tune.size(), 2u);
  EXPECT_EQ(plan.tune[0].first, "B") << "the order of writing is kept";
  EXPECT_EQ(plan.DefaultTune(), (std::map<std::string, int64_t>{{"A", -1}, {"B", 128}}));
  EXPECT_EQ(plan.require.at(0).text(), "x.size(0) % 4 == 0");
  EXPECT_TRUE(plan.buffers.at(0).zero);
  EXPECT_EQ(plan.buffers[0].shape.at(1).text(), "4");
  EXPECT_EQ(plan.buffers[0].when->text(), "B > 1");
  EXPECT_EQ(plan.prepared.at(0).name, "wp");
  EXPECT_EQ(plan.prepare.at(0).where, "prepare[0]");
  EXPECT_EQ(plan.precision.at("matmul"), "fp32");
  EXPECT_EQ(plan.compile.standard, "c++20");
  EXPECT_TRUE(plan.compile.fast_math);
  EXPECT_EQ(plan.compile.max_registers, 64);

  ASSERT_EQ(plan.steps.size(), 3u);
  const auto& kernel = std::get<KernelStep>(plan.steps[0].what);
  EXPECT_EQ(kernel.kernel.base, "a::f");
  EXPECT_EQ(kernel.kernel.template_args, (std::vector<std::string>{"B", "{B / 2}", "float"}));
  EXPECT_EQ(kernel.grid.size(), 3u);
  EXPECT_EQ(kernel.block.size(), 1u);
  EXPECT_TRUE(kernel.cooperative);
  ASSERT_EQ(kernel.args.size(), 9u);
  EXPECT_EQ(std::get<PointerArg>(kernel.args[0]).tensor.name, "x");
  const auto& pointer = std::get<PointerArg>(kernel.args[1]);
  EXPECT_EQ(pointer.offset->text(), "4");
  EXPECT_TRUE(pointer.strided);
  EXPECT_EQ(std::get<Expr>(std::get<ScalarArg>(kernel.args[2]).value).text(), "B");
  EXPECT_EQ(std::get<int64_t>(std::get<ScalarArg>(kernel.args[3]).value), 5);
  EXPECT_EQ(std::get<Expr>(std::get<ScalarArg>(kernel.args[4]).value).text(), "n");
  EXPECT_EQ(std::get<double>(std::get<ScalarArg>(kernel.args[5]).value), 0.5);
  EXPECT_LT(std::get<double>(std::get<ScalarArg>(kernel.args[6]).value), -1e300);
  EXPECT_EQ(std::get<bool>(std::get<ScalarArg>(kernel.args[7]).value), true);
  EXPECT_EQ(std::get<double>(std::get<ScalarArg>(kernel.args[8]).value), 1.0);

  const auto& op = std::get<OpStep>(plan.steps[1].what);
  EXPECT_EQ(op.op, "aten::max");
  EXPECT_EQ(op.overload, "dim");
  EXPECT_TRUE(op.out_is_list);
  EXPECT_EQ(op.out, (std::vector<std::optional<std::string>>{"m", std::nullopt}));
  ASSERT_EQ(op.args.size(), 8u);
  EXPECT_EQ(std::get<int64_t>(op.args[1].value), 1);
  EXPECT_EQ(std::get<Expr>(std::get<OpList>(op.args[2].value)[1].value).text(), "B");
  EXPECT_EQ(std::get<TensorRef>(std::get<OpList>(op.args[2].value)[2].value).name, "x");
  EXPECT_EQ(std::get<std::string>(op.args[3].value), "float32");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(op.args[4].value));
  EXPECT_EQ(std::get<bool>(op.args[5].value), true);
  EXPECT_EQ(std::get<double>(op.args[6].value), 1.5);
  EXPECT_LT(std::get<double>(op.args[7].value), -1e300);
  EXPECT_EQ(op.kwargs.at(0).first, "keepdim");

  const auto& repeat = std::get<RepeatStep>(plan.steps[2].what);
  EXPECT_EQ(repeat.counter, "i");
  EXPECT_EQ(repeat.steps.at(0).where, "steps[2].steps[0]");
  const auto& in_place = std::get<OpStep>(repeat.steps[0].what);
  EXPECT_EQ(in_place.overload, "") << "default is the overload without a name";
  EXPECT_TRUE(in_place.out.empty());
}

TEST(ParseCandidateTest, SaysWhereThePlanShouldBe) {
  EXPECT_EQ(ParseComplaint(""),
            "the file has no plan; it must start with a comment /*cudaagent { \"plan\": 1, "
            "\"steps\": [...] } */");
  EXPECT_EQ(ParseComplaint("__global__ void f() {}\n/*cudaagent {} */"),
            "line 2: the plan must come before all code; move the /*cudaagent comment to the top");
  EXPECT_EQ(ParseComplaint("/*cudaagent {"), "line 1: the plan's comment is not closed by \"*/\"");
  EXPECT_EQ(ParseComplaint("/*cudaagent {} */\n/*cudaagent {} */"),
            "line 2: a second /*cudaagent comment; a candidate has one plan");
  EXPECT_EQ(ParseComplaint("// by me\n/* licence */\n" + MakeSource(kLinear)), "");
  EXPECT_EQ(ParseComplaint("\xEF\xBB\xBF" + MakeSource(kLinear)), "");
}

TEST(ParseCandidateTest, TellsAnAnswerFromAFile) {
  EXPECT_EQ(ParseComplaint("Here it is:\n```cuda\n" + MakeSource(kLinear)),
            "the code block with the plan is not closed, so the answer was cut off; send the whole "
            "file in one ```cuda block");
  EXPECT_EQ(
      ParseComplaint("```cuda\n__global__ void f() {}\n```\n"),
      "no code block of the answer holds a plan; the file in the ```cuda block must start with "
      "the comment /*cudaagent {...} */");
  EXPECT_EQ(ParseComplaint("```cuda\n" + MakeSource(kLinear) + "```\n"),
            "this is an answer with a candidate in a code block; give the block alone");
}

TEST(ParseCandidateTest, SaysTheLineOfInvalidJson) {
  EXPECT_EQ(ParseComplaint("\n/*cudaagent\n{ \"plan\": 1,\n  \"steps\": [1, 2,\n  ] }\n*/"),
            "plan, line 4: trailing comma; JSON wants none before a closing bracket");
  EXPECT_EQ(ParseComplaint("/*cudaagent\n{ \"plan\": 1, // why, not\n}\n*/"),
            "plan, line 2: trailing comma; JSON wants none before a closing bracket");
  EXPECT_EQ(ParseComplaint("/*cudaagent\n{ \"plan\": 1,\n \"plan\": 1}\n*/"),
            "plan, line 3: the key \"plan\" is written twice");
  const std::string quotes = ParseComplaint("/*cudaagent\n{ \"plan\": 1,\n\n 'steps': []}\n*/");
  EXPECT_EQ(quotes.substr(0, 26), "plan, line 4: invalid JSON") << quotes;
  const std::string cut =
      ParseComplaint("/*cudaagent\n{ \"plan\": 1,\n \"steps\": [{\"op\": \"*/\"}]}");
  EXPECT_EQ(cut.substr(0, 26), "plan, line 3: invalid JSON") << cut;
  EXPECT_NE(ParseComplaint("/*cudaagent\n{ \"plan\": 1 */")
                .find("; the plan ends at the first \"*/\", which must not occur inside it"),
            std::string::npos);
  const std::string huge = ParseComplaint("/*cudaagent\n{ \"plan\": 1e999 }*/");
  EXPECT_EQ(huge.substr(0, 26), "plan, line 2: invalid JSON") << huge;
}

struct Case {
  std::string fields;
  std::string sentence;
};

TEST(ParseCandidateTest, NamesTheFieldThatIsWrong) {
  const Case cases[] = {
      {R"("stepz": [])", "plan: unknown field \"stepz\"; did you mean \"steps\"?"},
      {R"("tune": {})", "plan: the field \"steps\" is missing"},
      {R"("steps": [])", "steps: expected at least one step"},
      {R"("steps": {})", "steps: expected a list of steps, found an object"},
      {R"("steps": [5])", "steps[0]: expected a step, found the number 5"},
      {R"("steps": [{"grid": [1]}])",
       "steps[0]: a step has one of \"kernel\", \"op\" and \"repeat\"; this has none"},
      {R"("steps": [{"op": "a::b", "kernel": "f"}])",
       "steps[0]: a step has only one of \"kernel\", \"op\" and \"repeat\""},
      {R"("tune": {"B": []}, "steps": [])", "tune.B: expected 1 to 64 integers, found 0"},
      {R"("tune": {"B": 4}, "steps": [])",
       "tune.B: expected a list of integers, found the number 4"},
      {R"("tune": {"B": [1.5]}, "steps": [])",
       "tune.B[0]: expected an integer, found the number 1.5"},
      {R"("tune": {"B": [18446744073709551615]}, "steps": [])",
       "tune.B[0]: the number 18446744073709551615 does not fit in 64 bits"},
      {R"("tune": {"1": [1]}, "steps": [])", "tune[\"1\"]: a tune name is an identifier"},
      {R"("tune": {"min": [1]}, "steps": [])",
       "tune.min: the name \"min\" has a meaning in expressions; choose another"},
      {R"("tune": {"BLOCK": [1]}, "tuned": {"BLOK": 1}, "steps": [])",
       "tuned.BLOK: \"BLOK\" is not in \"tune\"; did you mean \"BLOCK\"?"},
      {R"("require": ["1 +"], "steps": [])",
       "require[0]: expected a number, a name or '(' at column 4 of \"1 +\""},
      {R"("buffers": {"t": {"dtype": "float", "shape": [1]}}, "steps": [])",
       "buffers.t.dtype: unknown dtype \"float\"; did you mean \"float32\"?"},
      {R"("buffers": {"t": {"shape": [1]}}, "steps": [])",
       "buffers.t: the field \"dtype\" is missing"},
      {R"("buffers": {"a.b": {"dtype": "float32", "shape": [1]}}, "steps": [])",
       "buffers[\"a.b\"]: the name \"a.b\" may hold only letters, digits and \"_\""},
      {R"("prepared": {"t": {"dtype": "float32", "shape": [1], "zero": true}}, "steps": [])",
       "prepared.t: unknown field \"zero\"; known: dtype, shape, when"},
      {R"("precision": {"matmul": "tf23"}, "steps": [{"op": "a::b", "out": "t"}])",
       "precision.matmul: unknown value \"tf23\"; did you mean \"tf32\"?"},
      {R"("compile": {"maxrregcount": 300}, "steps": [{"op": "a::b", "out": "t"}])",
       "compile.maxrregcount: expected 16 to 255, found 300"},
      {R"("compile": {"flags": ""}, "steps": [{"op": "a::b", "out": "t"}])",
       "compile: unknown field \"flags\"; known: std, fast_math, maxrregcount, include"},
      {R"("compile": {"include": ["cutlass"]}, "steps": [{"op": "a::b", "out": "t"}])",
       "compile.include[0]: CUTLASS is not on the include path of this version; write the kernel "
       "without "
       "it, or leave the product to an op such as aten::linear"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(ParseComplaint(MakeSource(each.fields)), each.sentence) << each.fields;
  }
  EXPECT_EQ(ParseComplaint("/*cudaagent {\"steps\": []} */"),
            "plan: the field \"plan\" is missing");
  EXPECT_EQ(ParseComplaint("/*cudaagent {\"plan\": 2, \"steps\": []} */"),
            "plan: this version reads plans of version 1 only; write \"plan\": 1");
  EXPECT_EQ(ParseComplaint("/*cudaagent [] */"), "plan: expected an object, found an empty list");
}

TEST(ParseCandidateTest, NamesTheStepThatIsWrong) {
  auto kernel = [](const std::string& args) {
    return R"({"kernel": "f<1>", "grid": [1], "block": [1], "args": [)" + args + "]}";
  };
  const Case cases[] = {
      {kernel("5"), "steps[0].args[0]: a bare number has no type; write {\"i32\": 5}"},
      {kernel("\"$x\", 0.5"), "steps[0].args[1]: a bare number has no type; write {\"f32\": 0.5}"},
      {kernel("true"), "steps[0].args[0]: a bare boolean has no type; write {\"bool\": true}"},
      {kernel("\"x\""), "steps[0].args[0]: \"x\" is a bare string; a tensor is written \"$name\""},
      {kernel("null"),
       "steps[0].args[0]: a kernel argument is \"$name\", {\"ptr\": \"$name\"} or a typed scalar "
       "such as {\"i32\": 5}, found null"},
      {kernel("{\"expr\": \"n\"}"),
       "steps[0].args[0]: an expression has no type here; write {\"i32\": \"n\"}"},
      {kernel("{\"int\": 5}"),
       "steps[0].args[0]: unknown kind of argument \"int\"; known: ptr, ptrs, i32, i64, u32, u64, "
       "f32, "
       "f64, "
       "f16, bf16, bool"},
      {kernel("{\"i32\": 5, \"i64\": 5}"),
       "steps[0].args[0]: a kernel argument is \"$name\", {\"ptr\": \"$name\"} or a typed scalar "
       "such as {\"i32\": 5}, with one key"},
      {kernel("{\"i32\": 3000000000}"), "steps[0].args[0].i32: 3000000000 does not fit in i32"},
      {kernel("{\"u64\": -1}"), "steps[0].args[0].u64: -1 does not fit in u64"},
      {kernel("{\"i32\": 1.5}"), "steps[0].args[0].i32: expected an integer, found the number 1.5"},
      {kernel("{\"f32\": \"1.0 / n\"}"),
       "steps[0].args[0].f32: expected a number, {\"fexpr\": \"...\"}, \"inf\", \"-inf\" or "
       "\"nan\", found the string "
       "\"1.0 / n\""},
      {kernel("{\"f32\": {\"fexpr\": \"1 /\"}}"),
       "steps[0].args[0].f32: expected a number, a name or '(' at column 4 of \"1 /\""},
      {kernel("{\"fexpr\": \"1 / n\"}"),
       "steps[0].args[0]: an expression has no type here; write {\"f32\": {\"fexpr\": \"1 / n\"}}"},
      {kernel("{\"ptrs\": []}"), "steps[0].args[0].ptrs: expected 1 to 500 tensors, found 0"},
      {kernel("{\"ptrs\": [\"x\"]}"),
       "steps[0].args[0].ptrs[0]: \"x\" is a bare string; a tensor is written \"$name\""},
      {kernel("{\"tensor_map\": {}}"),
       "steps[0].args[0]: \"tensor_map\" is not supported by this version; do without it"},
      {kernel("{\"ptr\": \"$x\", \"ofset\": 1}"),
       "steps[0].args[0]: unknown field \"ofset\"; did you mean \"offset\"?"},
      {R"({"kernel": "f", "grid": [1], "block": [1], "args": [], "cluster": [2]})",
       "steps[0]: \"cluster\" is not supported by this version; do without it"},
      {R"({"kernel": "f", "grid": [1], "block": [1], "args": [], "programmatic": true})",
       "steps[0]: \"programmatic\" is not supported by this version; do without it"},
      {R"({"kernel": "f", "grid": [1,1,1,1], "block": [1], "args": []})",
       "steps[0].grid: expected one to three integers or expressions, found 4"},
      {R"({"kernel": "f", "grid": [1.5], "block": [1], "args": []})",
       "steps[0].grid[0]: expected an integer or an expression, found the number 1.5"},
      {R"({"kernel": "f", "grid": [1], "args": []})", "steps[0]: the field \"block\" is missing"},
      {R"({"kernel": "f", "grid": [1], "block": ["x.size("], "args": []})",
       "steps[0].block[0]: expected a number, a name or '(' at column 8 of \"x.size(\""},
      {R"({"kernel": "f(", "grid": [1], "block": [1], "args": []})",
       "steps[0].kernel: the kernel name \"f(\" is not of the form name, ns::name or name<ARG, "
       "...>"},
      {R"({"kernel": "f<1", "grid": [1], "block": [1], "args": []})",
       "steps[0].kernel: the kernel name \"f<1\" does not end with \">\""},
      {R"({"kernel": "f<1;2>", "grid": [1], "block": [1], "args": []})",
       "steps[0].kernel: the kernel name \"f<1;2>\" has the template argument \"1;2\"; one is a "
       "tune "
       "name, a literal, a type or {expr}"},
      {R"({"kernel": "f\u0007", "grid": [1], "block": [1], "args": []})",
       "steps[0].kernel: the kernel name \"f\\x07\" holds a control character"},
      {R"({"op": "linear", "args": [], "out": "t"})",
       "steps[0].op: \"linear\" is not an op's name; write \"aten::name\" or "
       "\"aten::name.overload\""},
      {R"({"op": "aten::relu", "args": ["$x"]})",
       "steps[0]: the op's result has no name; add \"out\": \"name\""},
      {R"({"op": "aten::relu", "args": ["$x"], "out": "$t"})",
       "steps[0].out: a result is named without \"$\": \"t\""},
      {R"({"op": "aten::relu", "args": [{"tensor": "$x"}], "out": "t"})",
       "steps[0].args[0]: unknown field \"tensor\"; known: expr"},
      {R"({"op": "aten::relu", "argz": ["$x"], "out": "t"})",
       "steps[0]: unknown field \"argz\"; did you mean \"args\"?"},
      {R"({"repeat": "i", "count": 3, "steps": []})", "steps[0].steps: expected at least one step"},
      {R"({"repeat": "i", "count": 3, "steps": [{"op": 3}]})",
       "steps[0].steps[0].op: expected an op such as \"aten::linear\", found the number 3"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(ParseComplaint(MakeSource("\"steps\": [" + each.fields + "]")), each.sentence)
        << each.fields;
  }
}

TEST(ParseCandidateTest, FindsHostCode) {
  auto with = [](const std::string& code) { return ParseComplaint(MakeSource(kLinear, code)); };
  EXPECT_EQ(with("void run() { f<<<1, 2>>>(); }"),
            "line 4: a kernel is launched with <<<...>>>; the plan's kernel steps launch, so leave "
            "host code out");
  EXPECT_EQ(with("\nint main() { return 0; }"),
            "line 5: main() is host code; the plan says what is launched, so leave it out");
  EXPECT_EQ(with("#include <torch/extension.h>\n"),
            "line 4: #include of torch/... is host code; the file holds device code only, and the "
            "plan does what the host would");
  EXPECT_EQ(with("#  include \"torch/extension.h\"\n").substr(0, 26), "line 4: #include of torch/");
  EXPECT_EQ(with("void h() { cudaMalloc(&p, 4); }"),
            "line 4: cudaMalloc is host code; buffers and launches belong in the plan");
  EXPECT_EQ(with("torch::Tensor forward(torch::Tensor x);"),
            "line 4: torch::Tensor is host code; kernels take pointers, which the plan passes as "
            "\"$name\"");
  EXPECT_EQ(with("// f<<<1, 2>>>()\n/* int main() */ const char* s = \"<<<\"; int domain(int);\n"
                 "constexpr int k = 1'000; __device__ int main_loop();\n"
                 "const char* r = R\"x(<<<\")x\";"),
            "");
}

TEST(ParseCandidateTest, HostileTextIsRefusedQuickly) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ParseComplaint(MakeSource(kLinear, std::string(10 << 20, 'x'))).substr(0, 13),
            "the file has ");
  EXPECT_EQ(ParseComplaint(MakeSource(kLinear, std::string("a\0b", 3))),
            "line 4: the file holds a NUL byte");
  EXPECT_EQ(ParseComplaint(MakeSource(kLinear, "\n\xff\xfe")),
            "line 5: the file is not valid UTF-8");
  EXPECT_EQ(ParseComplaint(MakeSource("\"steps\": " + std::string(100000, '['))),
            "plan, line 2: the plan nests deeper than 48 levels");
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "{\"expr\": ";
  EXPECT_NE(ParseComplaint(MakeSource("\"steps\": [" + deep + "1" + std::string(40, '}') + "]")),
            "");
  std::string many = "\"steps\": [0";
  for (int i = 0; i < 300000; ++i) many += ",0";
  EXPECT_EQ(ParseComplaint(MakeSource(many + "]")),
            "plan, line 2: the plan has more than 200000 values");
  std::string keys = "\"k\": 0";
  for (int i = 0; i < 100000; ++i) keys += ",\"k" + std::to_string(i) + "\": 0";
  EXPECT_EQ(ParseComplaint(MakeSource(keys)), "plan, line 2: an object has more than 4096 keys");
  std::string nested = R"({"op": "aten::relu_", "args": ["$out0"]})";
  for (int i = 0; i < 8; ++i) {
    nested =
        R"({"repeat": "i)" + std::to_string(i) + R"(", "count": 2, "steps": [)" + nested + "]}";
  }
  EXPECT_NE(ParseComplaint(MakeSource("\"steps\": [" + nested + "]"))
                .find("repeats nest deeper than 6 levels"),
            std::string::npos);
  std::string quotes(1 << 20, '"');
  EXPECT_NE(ParseComplaint(MakeSource(quotes)), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(ParseCandidateTest, MutatedCandidatesNeverCrash) {
  const std::string source = MakeSource(
      R"j("tune": {"B": [256]}, "require": ["B > 0"], "buffers": {"t": {"dtype": "float32",
      "shape": ["x.size(0)"]}}, "steps": [{"kernel": "f<B>", "grid": ["ceil_div(x.numel, B)"],
      "block": ["B"], "args": ["$x", {"ptr": "$out0", "offset": "0"}, {"i32": "n"}]},
      {"repeat": "i", "count": 2, "steps": [{"op": "aten::relu_", "args": ["$out0"]}]}])j");
  ASSERT_EQ(Complaint(source), "");
  std::mt19937 random(11);
  const std::string bytes = "{}[]\"$,:.*/()0123456789abxn<> \n\\\x80";
  for (int round = 0; round < 20000; ++round) {
    std::string mutated = source;
    for (int edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % mutated.size();
      switch (random() % 3) {
        case 0:
          mutated[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          mutated.erase(at, 1 + random() % 5);
          break;
        default:
          mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 9));
      }
    }
    EXPECT_NE(Complaint(mutated), "?");
  }
}

}  // namespace
}  // namespace cudaagent::candidate

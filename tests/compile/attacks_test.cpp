// Candidates that attack whatever compiles them. Each gets a verdict within its caps, a log that is
// bounded and quotes nothing foreign, and leaves the next compile unharmed. Beside these:
// include_leak_test.cpp (files), compile_pool_test.cpp (template and constexpr bombs, a flood of
// warnings, a huge module), ptx_rules_test.cpp (instructions).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "compile/compile_log.h"
#include "compile/pool_driver.h"

namespace cudaagent::compile {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kKernel = "\nextern \"C\" __global__ void k(int* p) { *p = 1; }\n";

std::string Times(size_t count, const std::string& text) {
  std::string all;
  all.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

class CompileAttackTest : public testing::Test {
 protected:
  // Within the caps, and with a log that may be shown. The kernel is "k".
  protocol::CompileReply Attack(const std::string& source, double timeout_s = 60,
                                int64_t memory_bytes = int64_t{2} << 30) {
    auto job = PoolDriver::Job(source, {"k"});
    job.timeout_s = timeout_s;
    job.memory_bytes = memory_bytes;
    const auto start = std::chrono::steady_clock::now();
    const auto reply = driver_.Run(job);
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::duration<double>(timeout_s + 20));
    EXPECT_LE(reply.report.log.size(), kMaxLogBytes);
    EXPECT_LE(reply.message.size(), 1024u);
    EXPECT_NE(reply.verdict, Verdict::kInfraError) << reply.message;
    for (const char* foreign : {"root:", "\x1b", "/candidate"}) {
      EXPECT_THAT(reply.report.log, Not(HasSubstr(foreign)));
      EXPECT_THAT(reply.message, Not(HasSubstr(foreign)));
    }
    return reply;
  }

  void TearDown() override {
    const auto next = driver_.Run("__global__ void next(int* p) { *p = 2; }", {"next"});
    EXPECT_TRUE(next.ok) << next.message;
  }

  std::string PtxOf(const protocol::CompileReply& reply) {
    EXPECT_TRUE(reply.ok) << reply.message << reply.report.log;
    return util::ReadFile(reply.report.ptx_path).value_or("");
  }

  PoolDriver driver_;
};

TEST_F(CompileAttackTest, AFileThatIncludesItselfIsRefused) {
  for (const char* line :
       {"#include __FILE__", "#include \"/candidate/kernel.cu\"", "#include_next __FILE__"}) {
    const auto reply = Attack(line + std::string(kKernel));
    EXPECT_EQ(reply.verdict, Verdict::kCompileFailed) << line;
    EXPECT_THAT(reply.message,
                AnyOf(HasSubstr("includes itself"), HasSubstr("cannot open source file")));
  }
}

TEST_F(CompileAttackTest, AHeaderIncludedTenThousandTimesIsNoBomb) {
  EXPECT_TRUE(
      Attack(Times(10000, "#include \"/cudaagent/first.h\"\n#include_next <cuda_fp16.h>\n") +
             kKernel)
          .ok);
}

TEST_F(CompileAttackTest, MacrosThatDoubleEndAtTheTimeCap) {
  std::string laughs = "#define b0 0+\n",
              pasted = "#define C1(x, y) x##y\n#define C(x, y) C1(x, y)\n#define A0 x\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string last = std::to_string(i - 1), now = std::to_string(i);
    laughs += "#define b" + now + Times(10, " b" + last) + "\n";
    pasted += "#define A" + now + " C(A" + last + ", A" + last + ")\n";
  }
  for (const std::string& bomb :
       {laughs + "const int x = b40 0;", laughs + "#if b40 0\n#endif", pasted + "int A40;"}) {
    const auto reply = Attack(bomb + kKernel, 2);
    EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
    EXPECT_THAT(reply.message,
                AnyOf(StartsWith("The compile hit its time cap of 2 s"),
                      StartsWith("The compile hit its memory cap"), StartsWith("NVRTC ")));
  }
}

TEST_F(CompileAttackTest, AnArrayOfTenGigabytesWithContentsEndsAtACap) {
  const auto reply = Attack(
      "__device__ char x[10000000000ull] = {1};\n"
      "extern \"C\" __global__ void k(char* p) { *p = x[(long)p]; x[3] = *p; }\n");
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_THAT(reply.message,
              AnyOf(HasSubstr("memory cap of 2 GiB"), HasSubstr("time cap of 60 s")));
}

TEST_F(CompileAttackTest, AConstantArrayBeyondTheDevicesIsRefused) {
  EXPECT_EQ(Attack("__constant__ char x[1ull << 33];\n"
                   "extern \"C\" __global__ void k(char* p) { *p = x[(long)p]; }\n")
                .verdict,
            Verdict::kCompileFailed);
}

TEST_F(CompileAttackTest, FloodsOfMessagesAreCut) {
  auto reply =
      Attack(Times(10000, "#pragma message(\"" + std::string(500, 'm') + "\")\n") + kKernel);
  EXPECT_TRUE(reply.ok) << reply.message;
  EXPECT_THAT(reply.report.log, HasSubstr("... (the log goes on)"));
  std::string errors;
  for (int i = 0; i < 100000; ++i)
    errors += "int e" + std::to_string(i) + " = undefined_" + std::to_string(i) + ";\n";
  reply = Attack(errors + kKernel);
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(reply.message,
            "NVRTC refused the code: kernel.cu(1): identifier \"undefined_0\" is undefined (the "
            "first of 100 errors).");
}

TEST_F(CompileAttackTest, VeryLongLinesAndNamesAreCut) {
  EXPECT_TRUE(Attack("/*" + std::string(20'000'000, 'x') + "*/" + kKernel).ok);
  auto reply = Attack("int y = " + std::string(5'000'000, 'x') + ";" + kKernel);
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  reply = Attack("const char* s = \"" + std::string(5'000'000, 's') + "\";\n#error " +
                 std::string(1'000'000, 'e') + kKernel);
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
}

TEST_F(CompileAttackTest, DeepNestingEndsWithAVerdict) {
  for (const std::string& deep :
       {"int x = " + Times(100000, "(") + "1" + Times(100000, ")") + ";", Times(100000, "#if 1\n"),
        "template <class T> struct S {}; " + Times(20000, "S<") + "int" + Times(20000, ">") +
            "* s;",
        Times(20000, "namespace a {") + Times(20000, "}"), "int " + Times(300000, "*") + "p;",
        "auto f = " + Times(2000, "[] { return ") + "1" + Times(2000, ";}") + ";"}) {
    const auto reply = Attack(deep + kKernel, 3);
    EXPECT_THAT(reply.verdict, AnyOf(Verdict::kOk, Verdict::kCompileFailed)) << deep.substr(0, 40);
  }
}

TEST_F(CompileAttackTest, ACodeBombForPtxasEndsAtTheTimeCap) {
  std::string body;
  for (int i = 0; i < 30000; ++i) {
    const auto n = [i](int m) { return std::to_string(i % m); };
    body += "a = a * p[" + n(977) + "] + p[" + n(631) + "]; if (a > " + std::to_string(i) +
            ".f) p[" + n(811) + "] = a;";
  }
  const auto reply = Attack(
      "extern \"C\" __global__ void k(float* p) { float a = p[0];" + body + "p[0] = a; }", 3);
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_THAT(reply.message, StartsWith("The compile hit its time cap of 3 s"));
}

TEST_F(CompileAttackTest, ASecretInAStaticAssertsMessageIsNotThere) {
  const auto reply =
      Attack("static_assert(false,\n#include \"/etc/passwd\"\n);" + std::string(kKernel));
  EXPECT_EQ(reply.message,
            "NVRTC refused the code: kernel.cu(2): cannot open source file \"/etc/passwd\".");
}

TEST_F(CompileAttackTest, EmbedIsNotKnown) {
  for (const char* what : {"__FILE__", "\"/dev/zero\"", "\"/etc/passwd\""}) {
    const auto reply =
        Attack("const unsigned char a[] = {\n#embed " + std::string(what) + "\n};" + kKernel);
    EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
    EXPECT_THAT(reply.message, HasSubstr("unrecognized preprocessing directive"));
  }
}

TEST_F(CompileAttackTest, DevicesAreNotRead) {
  for (const char* path : {"/dev/zero", "/dev/tty", "/dev/random"}) {
    const auto reply = Attack("#include \"" + std::string(path) + "\"" + kKernel);
    EXPECT_EQ(reply.message, "NVRTC refused the code: kernel.cu(1): cannot open source file \"" +
                                 std::string(path) + "\".");
  }
}

TEST_F(CompileAttackTest, AssemblyOpensNoFile) {
  for (const char* text :
       {".incbin \\\"/etc/passwd\\\";", ".include \\\"/etc/passwd\\\"",
        ".file 7 \\\"/etc/passwd\\\"", "} .visible .entry evil() { ret; } .func f() {"}) {
    const auto reply = Attack("extern \"C\" __global__ void k(int* p) { asm volatile(\"" +
                              std::string(text) + "\"); *p = 1; }");
    EXPECT_THAT(reply.verdict, AnyOf(Verdict::kOk, Verdict::kCompileFailed)) << text;
  }
}

// Assembly outside of functions does not reach the module.
TEST_F(CompileAttackTest, AssemblyAtFileScopeIsDropped) {
  EXPECT_THAT(PtxOf(Attack("asm(\".global .u32 hidden_state;\");" + std::string(kKernel))),
              Not(HasSubstr("hidden_state")));
}

TEST_F(CompileAttackTest, LineDirectivesCannotSpeakForOtherFiles) {
  // What they name is neither opened nor quoted, and the verdict says why nothing is shown.
  for (const char* name : {"/etc/passwd", "cuda_fp16.h", "/usr/include/stdio.h"}) {
    const auto reply =
        Attack("#line 1 \"" + std::string(name) + "\"\nint a = undefined_thing;" + kKernel);
    EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
    EXPECT_EQ(reply.message,
              "NVRTC refused the code in lines that a #line directive gives another file's name.");
    EXPECT_THAT(reply.report.log, Not(HasSubstr(name)));
  }
  EXPECT_TRUE(Attack("#line 2147483647 \"/etc/passwd\"" + std::string(kKernel)).ok);
  const auto large =
      Attack("#line 7 \"" + std::string(1'000'000, 'n') + "\"\nint a = undefined_thing;" + kKernel);
  EXPECT_EQ(large.verdict, Verdict::kCompileFailed);
}

TEST_F(CompileAttackTest, LineDirectivesThatForgeADiagnosticStayText) {
  const auto reply =
      Attack("#line 7 \"kernel.cu(3): error: \x1b[31m all is well\"\nint a = undefined_thing;" +
             std::string(kKernel));
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_THAT(reply.message, HasSubstr("identifier \"undefined_thing\" is undefined"));
}

TEST_F(CompileAttackTest, PragmasSuppressNoError) {
  for (const char* pragma :
       {"#pragma nv_diag_suppress 20", "#pragma diag_suppress 20", "#pragma nv_diag_default 20",
        "#pragma nv_diag_warning 20", "#pragma GCC diagnostic ignored \"-Wall\""}) {
    const auto reply = Attack(pragma + std::string("\nint a = undefined_thing;") + kKernel);
    EXPECT_EQ(reply.verdict, Verdict::kCompileFailed) << pragma;
    EXPECT_THAT(reply.message, HasSubstr("identifier \"undefined_thing\" is undefined")) << pragma;
  }
}

// NVRTC speaks of name expressions with a pragma of its own.
TEST_F(CompileAttackTest, APragmaForANameMakesNoKernel) {
  for (const char* name : {"k", "other", "no_such"}) {
    const auto reply = Attack("__global__ void other() {}\n#pragma nv_mangled_name " +
                              std::string(name) + kKernel);
    EXPECT_THAT(reply.lowered.size(), AnyOf(0u, 1u)) << name;
    EXPECT_EQ(reply.lowered.count("other"), 0u) << name;
  }
}

TEST_F(CompileAttackTest, WhetherAPathExistsIsNotTold) {
  const auto source = [](const std::string& path) {
    return "#if __has_include(\"" + path +
           "\")\n#define HERE 1111\n#else\n#define HERE 2222\n#endif\n"
           "extern \"C\" __global__ void k(int* p) { *p = HERE; }\n";
  };
  for (const char* path :
       {"/etc/passwd", "/etc/no-such-file", "/root", "/proc/self/maps", "/dev/null"}) {
    EXPECT_THAT(PtxOf(Attack(source(path))), HasSubstr("2222")) << path;
  }
}

TEST_F(CompileAttackTest, ABuildDoesNotDependOnWhenItIsMade) {
  const auto ptx =
      PtxOf(Attack("#define JOIN(a, b) a##b\n__device__ const char when[] = JOIN(__DA, TE__) \" \" "
                   "__TIME__ \" \" __FILE__;\n"
                   "extern \"C\" __global__ void k(char* p) { *p = when[(long)p]; }\n"));
  // "Jan  1 2000 12:00:00"
  EXPECT_THAT(
      ptx,
      HasSubstr(
          "74, 97, 110, 32, 32, 49, 32, 50, 48, 48, 48, 32, 49, 50, 58, 48, 48, 58, 48, 48, 32"));
  for (const char* name : {"__TIMESTAMP__", "__COUNTER__"}) {
    const auto reply = Attack("auto what = " + std::string(name) + ";" + kKernel);
    EXPECT_THAT(reply.message, HasSubstr("identifier \"" + std::string(name) + "\" is undefined"));
  }
}

}  // namespace
}  // namespace cudaagent::compile

// The readers of NVRTC's texts: log, PTX, source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/compile_log.h"
#include "compile/kernel_names.h"
#include "compile/precompiled_headers.h"
#include "compile/ptx_scan.h"
#include "compile/timer_origin.h"

namespace cudaagent::compile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kDirs = {"/opt/cuda/include"};

TEST(CompileLogTest, KeepsDiagnosticsOfTheCandidateAndOfHeaders) {
  const CompileLog log = ReadLog(
      "/candidate/kernel.cu(7): warning #177-D: variable \"x\" was declared but never referenced\n"
      "    int x;\n        ^\n\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
      "/opt/cuda/include/mma.h(3): error: bad thing\n  code();\n  ^\n\n"
      "1 error detected in the compilation of \"/candidate/kernel.cu\".\n",
      kDirs);
  EXPECT_EQ(log.text,
            "mma.h(3): error: bad thing\n  code();\n  ^\n"
            "kernel.cu(7): warning #177-D: variable \"x\" was declared but never referenced\n"
            "    int x;\n        ^\n"
            "1 error detected in the compilation of \"kernel.cu\".\n");
  EXPECT_EQ(log.errors, 1);
  EXPECT_EQ(log.first_error, "mma.h(3): bad thing");
}

TEST(CompileLogTest, DropsWhatQuotesAForeignFile) {
  for (const char* path : {"/etc/passwd", "../secret", "/opt/cuda/include/../../../etc/shadow",
                           "/opt/cuda/include_private/x.h", "/proc/self/environ"}) {
    const CompileLog log = ReadLog(std::string(path) +
                                       "(1): error: expected a declaration\n"
                                       "  root:x:0:0\n  ^\n\n",
                                   kDirs);
    EXPECT_THAT(log.text, Not(HasSubstr("root:"))) << path;
    EXPECT_EQ(log.errors, 1);
    EXPECT_EQ(log.first_error, "");
  }
}

TEST(CompileLogTest, RemovesControlCharactersAndInvalidText) {
  const CompileLog log = ReadLog(
      "/candidate/kernel.cu(1): error: #error \x1b[31mred\x07\xff\r\n  x\x1b]0;t\x07\n", kDirs);
  EXPECT_THAT(log.text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(log.text, Not(HasSubstr("\x07")));
  EXPECT_THAT(log.text, Not(HasSubstr("\xff")));
  EXPECT_THAT(log.text, HasSubstr("red"));
}

TEST(CompileLogTest, ReadsNameErrorsAndPtxasErrors) {
  CompileLog log = ReadLog(
      "__nv_name_map(2): error: identifier \"nosuch\" is undefined\n"
      "  #pragma nv_mangled_name nosuch<256>\n                          ^\n\n"
      "__nv_name_map(2): error: expected an expression\n"
      "  #pragma nv_mangled_name nosuch<256>\n                          ^\n\n",
      kDirs);
  EXPECT_EQ(log.errors, 0);
  ASSERT_EQ(log.name_errors.size(), 1u);
  EXPECT_EQ(log.name_errors[0].expression, "nosuch<256>");
  EXPECT_EQ(log.name_errors[0].reason, "identifier \"nosuch\" is undefined");
  EXPECT_EQ(log.text, "");
  log = ReadLog("ptxas fatal   : Unresolved extern function '_Z3fooi'\n", kDirs);
  EXPECT_EQ(log.first_error, "Unresolved extern function 'foo(int)'");
}

TEST(CompileLogTest, IsCappedAtALineAndKeepsErrors) {
  std::string raw;
  for (int i = 0; i < 5000; ++i) {
    raw += "/candidate/kernel.cu(1): warning: " + std::string(100, 'w') + "\n\n";
  }
  raw += "/candidate/kernel.cu(9): error: here\n";
  const CompileLog log = ReadLog(raw, kDirs);
  EXPECT_LE(log.text.size(), kMaxLogBytes);
  EXPECT_THAT(log.text, testing::StartsWith("kernel.cu(9): error: here\n"));
  EXPECT_THAT(log.text, testing::EndsWith("\n... (the log goes on)\n"));
}

TEST(KernelNamesTest, SignaturesHaveNoReturnType) {
  EXPECT_EQ(Signature("_Z1fILi256ELi2EEvPK6float4i"), "f<256, 2>(float4 const*, int)");
  EXPECT_EQ(Signature("_Z1kPf"), "k(float*)");
  EXPECT_EQ(Signature("_ZN2ns1kIfEEvT_"), "ns::k<float>(float)");
  EXPECT_EQ(Signature("plain"), "plain");
  EXPECT_EQ(Signature("f"), "f");
  EXPECT_EQ(Signature("_Zgarbage"), "_Zgarbage");
  EXPECT_EQ(Signature(""), "");
}

TEST(KernelNamesTest, FindsGlobalFunctionsAndNothingElse) {
  EXPECT_THAT(
      GlobalFunctions("// __global__ void no()\n"
                      "/* __global__ void no2() */\n"
                      "const char* s = \"__global__ void no3()\";\n"
                      "#define K __global__ void no4() \\\n  __global__ void no5()\n"
                      "template <int N>\n__global__ void __launch_bounds__(256, (N > 1 ? 2 : 1))\n"
                      "first(const float* a) {}\n"
                      "extern \"C\" __global__ __cluster_dims__(2, 1, 1) void second() {}\n"
                      "__global__ void first(const float* a, int b);\n"
                      "void __global__ third(int x = 1'000) {}\n"
                      "int my__global__x(int);\n"
                      "static __global__ void\nfourth\n(void) {}\n"),
      ElementsAre("first", "second", "third", "fourth"));
  EXPECT_THAT(GlobalFunctions(""), IsEmpty());
  EXPECT_THAT(GlobalFunctions("__global__"), IsEmpty());
  EXPECT_THAT(GlobalFunctions("__global__ void __launch_bounds__((("), IsEmpty());
  EXPECT_THAT(GlobalFunctions("/* never closed __global__ void f()"), IsEmpty());
}

TEST(PtxScanTest, FindsEntriesAndExternFunctions) {
  const PtxSymbols symbols = ScanPtx(
      ".version 9.0\n.target sm_90a\n"
      ".extern .func  (.param .b64 func_retval0) malloc\n(\n\t.param .b64 malloc_param_0\n)\n;\n"
      ".extern .func __assertfail\n(\n)\n;\n"
      ".visible .entry _Z1kPi(\n"
      "\t.entry _Z1sPi()\n"
      "// .entry no(\n"
      ".func  (.param .b32 r) helper(\n"
      ".extern .shared .align 16 .b8 smem[];\n");
  EXPECT_THAT(symbols.entries, ElementsAre("_Z1kPi", "_Z1sPi"));
  EXPECT_THAT(symbols.extern_functions, ElementsAre("malloc", "__assertfail"));
  EXPECT_THAT(ScanPtx(".extern .func").extern_functions, ElementsAre(""));
}

TEST(PtxScanTest, FindsClocksAndCachePoliciesInInstructionsOnly) {
  const PtxSymbols symbols = ScanPtx(
      ".visible .entry k(\n)\n{\n"
      "\tmov.u64 %rd1, %clock64;\n"
      "\t{ mov.u64 %rd2, %globaltimer; }\n"
      "\tcreatepolicy.fractional.L2::evict_last.b64 %rd3, 1.0;\n"
      "\tcreatepolicy.fractional.L2::evict_first.b64 %rd3, 1.0;\n"
      "\tdiscard.global.L2 [%rd1], 128;\n"
      "\tprefetch.global.L2 [%rd1];\n"
      "\t// mov.u64 %rd1, %clock_hi;\n"
      "\tadd.s32 %r1, %r2, %clockwork;\n"
      "\tld.global.L1::no_allocate.f32 %f1, [%rd1]; // %clock\n}\n");
  EXPECT_THAT(symbols.forbidden,
              ElementsAre("%clock64", "%globaltimer", "createpolicy evict_last", "discard"));
  EXPECT_THAT(symbols.flags, ElementsAre("createpolicy", "prefetch"));
}

TEST(TimerOriginTest, TellsAHeadersTimerFromTheCandidates) {
  const std::string files =
      "\t.file\t1 \"kernel.cu\"\n\t.file\t4 \"/cuda/include/wait.h\"\n"
      "\t.file\t5 \"/cuda/include/chrono.h\"\n";
  const std::string timer = "\tmov.u64 %rd2, %globaltimer;\n";
  const std::string wait = "\t.loc\t5 41 3, function_name $L__info_string6, inlined_at 4 65 5\n";
  const std::string call = "\t.loc\t5 41 3, function_name $L__info_string6, inlined_at 1 9 5\n";
  EXPECT_TRUE(TimerOnlyInHeaders(wait + timer + files));
  EXPECT_FALSE(TimerOnlyInHeaders(call + timer + files));
  EXPECT_FALSE(TimerOnlyInHeaders("\t.loc\t1 14 3\n" + timer + files));
  EXPECT_FALSE(TimerOnlyInHeaders(wait + timer + call + timer + files));
  EXPECT_FALSE(TimerOnlyInHeaders("\t// begin inline asm\n" + wait + timer +
                                  "\t// end inline asm\n" + files))
      << "line information of its own";
  EXPECT_FALSE(TimerOnlyInHeaders(timer + files));
  EXPECT_FALSE(TimerOnlyInHeaders(wait + timer));
}

TEST(TimerOriginTest, SeesWhatRenamesLines) {
  for (const char* text :
       {"#line 1 \"/cuda/include/chrono.h\"\n", "int a;\n  #  line 7\n", "# 1 \"a.h\"\n",
        "#li\\\nne 7\n", "%:line 7\n", "/* a */ #line 7\n", "#/**/line 7", "/* a\n*/#line 7"}) {
    EXPECT_TRUE(RenamesLines(text)) << text;
  }
  for (const char* text : {"#include <cuda/barrier>\n", "int line = 7;\n", "// a line\n",
                           "#define A(x) #x\n", "#pragma unroll\n", ""}) {
    EXPECT_FALSE(RenamesLines(text)) << text;
  }
}

TEST(LeadingIncludesTest, StopAtTheFirstOtherToken) {
  EXPECT_THAT(LeadingIncludes(
                  "/*cudaagent {}\n*/\n// c\n#include <mma.h>\n  #  include \"cuda_fp16.h\" // x\n"
                  "\n#include <a.h>\n#define X\n#include <cooperative_groups.h>\n"),
              ElementsAre("mma.h", "cuda_fp16.h", "a.h"));
  EXPECT_THAT(LeadingIncludes("int x;\n#include <mma.h>\n"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("#include H\n#include <mma.h>\n"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("#include <mma.h> int x;\n"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("// splice \\\n#include <mma.h>\n"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("#if 0\n#include <mma.h>\n#endif"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("/* open"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("#include <mma.h"), IsEmpty());
  EXPECT_THAT(LeadingIncludes("#include <mma.h>"), ElementsAre("mma.h"));
}

}  // namespace
}  // namespace cudaagent::compile

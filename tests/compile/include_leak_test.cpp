// A candidate that tries to read files of the machine through the compiler. Nothing of them may
// show in a log, a message, PTX or cubin, in any jail this machine has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "compile/jail.h"
#include "compile/pool_driver.h"

namespace cudaagent::compile {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSecret = "SECRETWORD7";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), with);
  return text;
}

class IncludeLeakTest : public testing::TestWithParam<const char*> {
 protected:
  IncludeLeakTest() {
    const std::string kind = GetParam();
    usable_ = kind == "landlock" ? BestJail() == JailKind::kLandlock : ::geteuid() == 0;
    if (!usable_) return;
    Options options;
    options.jail = kind;
    driver_ = std::make_unique<PoolDriver>(options);
    secret_ = driver_->dir() + "/secret.h";
    // As code, as a quoted error and as data it would show.
    std::ofstream(secret_) << "int " << kSecret << " = \"" << kSecret << "\";\n#error " << kSecret
                           << "\n";
    std::ofstream(driver_->dir() + "/plain.txt") << kSecret << " " << kSecret << "\n";
  }

  void ExpectNoLeak(const std::string& code) {
    const std::string source =
        Replaced(Replaced(code, "@SECRET@", secret_), "@DIR@", driver_->dir());
    const auto reply = driver_->Run(source, {"k"});
    for (const char* word : {kSecret, "root:"}) {
      EXPECT_THAT(reply.message, Not(HasSubstr(word))) << source;
      EXPECT_THAT(reply.report.log, Not(HasSubstr(word))) << source;
      for (const std::string& path : {reply.report.ptx_path, reply.report.cubin_path}) {
        if (path.empty()) continue;
        const auto bytes = util::ReadFile(path);
        ASSERT_TRUE(bytes);
        EXPECT_THAT(*bytes, Not(HasSubstr(word))) << source;
      }
    }
  }

  bool usable_ = false;
  std::unique_ptr<PoolDriver> driver_;
  std::string secret_;
};

constexpr const char* kKernel = "\n__global__ void k(int* p) { *p = 1; }\n";

TEST_P(IncludeLeakTest, NoFormOfIncludeReadsAForeignFile) {
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  for (const char* form : {
           "#include \"@SECRET@\"",
           "#include <@SECRET@>",
           "#include \"../../../../../../../../../..@SECRET@\"",
           "#include <../../../../../../../../../..@SECRET@>",
           "#include <cuda/../../../../../../../../../..@SECRET@>",
           "#define H \"@SECRET@\"\n#include H",
           "#define H <@SECRET@>\n#include H",
           "#define S(x) #x\n#define P S(@SECRET@)\n#include P",
           "%:include \"@SECRET@\"",
           "?\?=include \"@SECRET@\"",
           "#inc\\\nlude \"@SECRET@\"",
           "#\\\n include \\\n \"@SECRET@\"",
           "#/* a */include/* b */\"@SECRET@\"",
           "/**/ # /**/ include /**/ \"@SECRET@\"",
           "#include_next \"@SECRET@\"",
           "#include_next <@SECRET@>",
           "#import \"@SECRET@\"",
           "_Pragma(\"include_alias(\\\"x.h\\\", \\\"@SECRET@\\\")\")\n#include \"x.h\"",
           "#line 1 \"@SECRET@\"\n#include \"secret.h\"",
           "#line 1 \"@DIR@/x.cu\"\n#include \"secret.h\"",
           "#line 1 \"@SECRET@\"\nint a = undefined_thing;",
           "# 1 \"@SECRET@\" 1\nint a = undefined_thing;",
           "#include \"/etc/passwd\"",
           "#include \"/proc/self/environ\"",
           "#include \"/proc/self/maps\"",
           "#include \"/proc/1/cmdline\"",
           "#include \"/proc/self/cwd/../../../../secret.h\"",
           "#include \"/proc/self/root@SECRET@\"",
           "#include \"/dev/fd/0\"",
           "#include \"/dev/stdin\"",
           "const char a[] = {\n#embed \"@SECRET@\"\n};",
           "const unsigned char a[] = {\n#embed \"@DIR@/plain.txt\"\n};",
       }) {
    ExpectNoLeak(std::string(form) + kKernel);
  }
}

TEST_P(IncludeLeakTest, NoAssemblyReadsAForeignFile) {
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  for (const char* form : {
           "__global__ void k(int* p) { asm volatile(\".incbin \\\"@SECRET@\\\";\"); }",
           "__global__ void k(int* p) { asm volatile(\".include \\\"@SECRET@\\\"\"); }",
           "__global__ void k(int* p) { asm volatile(\"}\\n.file 9 \\\"@SECRET@\\\"\\n.loc 9 1 "
           "0\\n{\"); }",
           "__global__ void k(int* p) { asm volatile(\"@@DWARF .byte 1\"); }",
           "__global__ void k(int* p) { asm volatile(\".section .x, \\\"@SECRET@\\\"\"); }",
       }) {
    ExpectNoLeak(form);
  }
}

TEST_P(IncludeLeakTest, AForeignFileCannotBeToldFromAnAbsentOne) {
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  const auto probe = [&](const std::string& path) {
    return driver_->Run("#if __has_include(\"" + path + "\")\n#error it is there\n#endif" + kKernel,
                        {"k"});
  };
  EXPECT_TRUE(probe(secret_).ok);
  EXPECT_TRUE(probe("/etc/passwd").ok);
  EXPECT_TRUE(probe("/etc/no-such-file").ok);
  const auto there = driver_->Run("#include \"" + secret_ + "\"" + kKernel, {"k"});
  const auto absent = driver_->Run("#include \"" + secret_ + "x\"" + kKernel, {"k"});
  EXPECT_EQ(Replaced(there.message, secret_, "@"), Replaced(absent.message, secret_ + "x", "@"));
}

TEST_P(IncludeLeakTest, HeadersOfTheToolkitStillWork) {
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  driver_->pool().Warm();
  const auto reply = driver_->Run(
      "#include <cuda_fp16.h>\n#include <mma.h>\n"
      "__global__ void k(half* p) { *p = __float2half(1.0f); }\n",
      {"k"});
  EXPECT_TRUE(reply.ok) << reply.message << reply.report.log;
}

INSTANTIATE_TEST_SUITE_P(Jails, IncludeLeakTest, testing::Values("landlock", "chroot"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cudaagent::compile

#include "compile/compile_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>

#include "compile/compile_log.h"
#include "compile/pool_driver.h"

namespace cudaagent::compile {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kScale =
    "template <int BLOCK, int VEC>\n"
    "__global__ void f(const float4* h, float* y, int n) {\n"
    "  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  if (i < n) y[i] = h[i].x * VEC;\n"
    "}\n";

TEST(CompilePoolTest, OneCompileYieldsCubinPtxNamesAndResources) {
  PoolDriver driver;
  const auto reply = driver.Run(
      "extern \"C\" __global__ void plain(float* p) { *p = 1; }\n"
      "__global__ void __launch_bounds__(128) shared(float* p) {\n"
      "  __shared__ float s[128];\n"
      "  s[threadIdx.x] = p[threadIdx.x];\n  __syncthreads();\n  p[threadIdx.x] = s[127 - "
      "threadIdx.x];\n}\n" +
          std::string(kScale),
      {"f<256, 2>", "plain", "shared"});
  ASSERT_TRUE(reply.ok) << reply.message << reply.report.log;
  EXPECT_EQ(reply.verdict, Verdict::kOk);
  EXPECT_TRUE(reply.report.attempted);
  EXPECT_FALSE(reply.report.cached);
  EXPECT_EQ(reply.lowered.at("f<256, 2>"), "_Z1fILi256ELi2EEvPK6float4Pfi");
  EXPECT_EQ(reply.demangled.at("f<256, 2>"), "f<256, 2>(float4 const*, float*, int)");
  EXPECT_EQ(reply.lowered.at("plain"), "plain");
  EXPECT_EQ(reply.demangled.at("plain"), "plain");
  const auto ptx = util::ReadFile(reply.report.ptx_path);
  const auto cubin = util::ReadFile(reply.report.cubin_path);
  ASSERT_TRUE(ptx && cubin);
  EXPECT_THAT(*ptx, HasSubstr(".target sm_90a"));
  EXPECT_THAT(*ptx, HasSubstr(".file\t1 \"kernel.cu\""));
  EXPECT_EQ(cubin->substr(1, 3), "ELF");
  ASSERT_EQ(reply.report.kernels.size(), 3u);
  EXPECT_EQ(reply.report.kernels[0].name, "f<256, 2>");
  EXPECT_GT(reply.report.kernels[0].registers, 4);
  EXPECT_EQ(reply.report.kernels[2].static_shared_bytes, 512);
  EXPECT_EQ(reply.report.kernels[2].max_threads, 128);
}

TEST(CompilePoolTest, SecondCompileComesFromTheCacheWithTheSamePaths) {
  PoolDriver driver;
  const auto first = driver.Run(kScale, {"f<64, 1>"});
  const auto second = driver.Run(kScale, {"f<64, 1>"});
  ASSERT_TRUE(first.ok && second.ok) << first.message;
  EXPECT_TRUE(second.report.cached);
  EXPECT_EQ(first.report.cubin_path, second.report.cubin_path);
  EXPECT_EQ(first.report.ptx_path, second.report.ptx_path);
  EXPECT_EQ(first.lowered, second.lowered);
  EXPECT_EQ(first.demangled, second.demangled);
  const auto other = driver.Run(kScale, {"f<64, 2>"});
  EXPECT_FALSE(other.report.cached);
}

TEST(CompilePoolTest, OptionsReachNvrtc) {
  PoolDriver driver;
  const std::string code = "__global__ void k(float* p) { p[0] = p[1] / p[2]; }";
  auto job = PoolDriver::Job(code, {"k"});
  const auto exact = driver.Run(job);
  job.fast_math = true;
  const auto fast = driver.Run(job);
  ASSERT_TRUE(exact.ok && fast.ok);
  EXPECT_THAT(*util::ReadFile(exact.report.ptx_path), HasSubstr("div.rn.f32"));
  EXPECT_THAT(*util::ReadFile(fast.report.ptx_path), HasSubstr("div.approx.ftz.f32"));
  job = PoolDriver::Job(
      "template <class T> concept C = true; template <C T> __global__ void k(T* p) {}", {"k<int>"});
  EXPECT_FALSE(driver.Run(job).ok);
  job.standard = "c++20";
  EXPECT_TRUE(driver.Run(job).ok);
  job.standard = "c++14";
  const auto refused = driver.Run(job);
  EXPECT_EQ(refused.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(refused.message,
            "The plan's \"std\" is \"c++14\"; it may be \"c++17\" (the default) or \"c++20\".");
}

TEST(CompilePoolTest, ErrorsNameTheCandidatesOwnLines) {
  PoolDriver driver;
  const auto reply =
      driver.Run("/*cudaagent\n{}\n*/\n__global__ void k(float* p) {\n  p[0] = foo;\n}\n", {"k"});
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(reply.message,
            "NVRTC refused the code: kernel.cu(5): identifier \"foo\" is undefined.");
  EXPECT_EQ(reply.report.log.substr(0, 60),
            std::string("kernel.cu(5): error: identifier \"foo\" is undefined\n    p[0] = foo;\n")
                .substr(0, 60));
  EXPECT_THAT(reply.report.log, Not(HasSubstr("/candidate")));
  EXPECT_THAT(reply.report.log, Not(HasSubstr("nv_mangled_name")));
}

TEST(CompilePoolTest, AbsentKernelIsABadCandidateThatListsTheKernelsThere) {
  PoolDriver driver;
  const std::string code = std::string(kScale) + "__global__ void other(int* p) {}\n";
  auto reply = driver.Run(code, {"g<256>"});
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(reply.message,
            "The plan names the kernel \"g<256>\", which the code does not define: the __global__ "
            "functions in the code are \"f\", \"other\".");
  reply = driver.Run(code, {"f<256, 2, 3>"});
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
  EXPECT_THAT(
      reply.message,
      HasSubstr("The plan's kernel \"f<256, 2, 3>\" does not fit its definition in the code: "));
  reply = driver.Run(
      "__device__ int k(int x) { return x; }\n__global__ void q(int* p) { *p = k(1); }", {"k"});
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(reply.message,
            "The plan's kernel \"k\" is not a __global__ function: the __global__ functions in the "
            "code are \"q\".");
  reply = driver.Run("__global__ void k() {}", {"k\n#error x"});
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
}

TEST(CompilePoolTest, CodeErrorsOutrankAbsentKernels) {
  PoolDriver driver;
  const auto reply = driver.Run("__global__ void k(int* p) { *p = nope; }", {"g"});
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(reply.message,
            "NVRTC refused the code: kernel.cu(1): identifier \"nope\" is undefined.");
}

TEST(CompilePoolTest, DeviceHeapAndForeignFunctionsAreBadCandidates) {
  PoolDriver driver;
  for (const char* body : {"*p = (int*)malloc(4);", "*p = new int[2];", "delete *p;"}) {
    const auto reply =
        driver.Run(std::string("__global__ void k(int** p) { ") + body + " }", {"k"});
    EXPECT_EQ(reply.verdict, Verdict::kBadCandidate) << body << reply.message;
    EXPECT_EQ(
        reply.message,
        "The code allocates memory on the device (malloc, free, new or delete): use a buffer of "
        "the plan, shared memory or local arrays instead.");
  }
  auto reply = driver.Run(
      "extern __device__ int foo(int);\n__global__ void k(int* p) { *p = foo(1); }", {"k"});
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(reply.message, "NVRTC refused the code: Unresolved extern function 'foo(int)'.");
  reply = driver.Run("__global__ void k(int* p) { printf(\"%d\", *p); assert(*p); }", {"k"});
  EXPECT_TRUE(reply.ok) << reply.message;
}

TEST(CompilePoolTest, TooMuchSharedMemoryIsPtxassSentence) {
  PoolDriver driver;
  const auto reply = driver.Run(
      "__global__ void k(int* p) { __shared__ int s[100000]; s[*p] = 1; *p = s[p[1]]; }", {"k"});
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_THAT(reply.message, HasSubstr("'k(int*)' uses too much shared data"));
}

TEST(CompilePoolTest, SeveralInFlightRunSideBySide) {
  Options options;
  options.jobs = 2;
  PoolDriver driver(options);
  for (int i = 0; i < 4; ++i) {
    auto job = PoolDriver::Job(std::string(kScale) + "// " + std::to_string(i), {"f<32, 1>"});
    job.id = 100 + i;
    driver.pool().Submit(job);
  }
  EXPECT_EQ(driver.pool().Children().size(), 2u);
  std::vector<int64_t> ids;
  for (const auto& reply : driver.Drain(4)) {
    EXPECT_TRUE(reply.ok) << reply.message;
    ids.push_back(reply.id);
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAre(100, 101, 102, 103));
  EXPECT_TRUE(driver.pool().idle());
}

// Two to the 25th instantiations: it takes what it is given.
constexpr const char* kBomb =
    "template <int N, int M> struct S { static constexpr long v = S<N - 1, M>::v + S<N - 1, M + (1 "
    "<< N)>::v; };\n"
    "template <int M> struct S<0, M> { static constexpr long v = M; };\n"
    "__global__ void k(long* p) { *p = S<25, 0>::v; }\n";

TEST(CompilePoolTest, TemplateBombsAreStoppedByTheTimeCap) {
  PoolDriver driver;
  auto job = PoolDriver::Job(kBomb, {"k"});
  job.timeout_s = 1;
  const auto start = std::chrono::steady_clock::now();
  const auto reply = driver.Run(job);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(reply.message,
            "The compile hit its time cap of 1 s; large unrolls, deep template recursion and "
            "constexpr loops are the usual reasons.");
  EXPECT_TRUE(driver.Run(kScale, {"f<1, 1>"}).ok);  // and the next one works
}

TEST(CompilePoolTest, TemplateBombsAreStoppedByTheMemoryCap) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer and RLIMIT_AS exclude each other";
#endif
  PoolDriver driver;
  auto job = PoolDriver::Job(kBomb, {"k"});
  job.timeout_s = 200;
  job.memory_bytes = 1;  // raised to the least that NVRTC needs: 1 GiB
  const auto reply = driver.Run(job);
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(
      reply.message,
      "The compile hit its memory cap of 1 GiB; large unrolls, deep template recursion and big "
      "constexpr tables are the usual reasons.");
}

TEST(CompilePoolTest, ConstexprLoopsEndByNvrtcsOwnLimit) {
  PoolDriver driver;
  const auto reply = driver.Run(
      "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i % 7; return s; "
      "}\n"
      "__global__ void k(long* p) { constexpr long v = f(1L << 40); *p = v; }\n",
      {"k"});
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(reply.message,
            "NVRTC refused the code: kernel.cu(2): expression must have a constant value.");
}

TEST(CompilePoolTest, MegabytesOfOutputBecomeACappedLogWithErrorsFirst) {
  PoolDriver driver;
  std::string code;
  for (int i = 0; i < 3000; ++i) {
    code += "#warning " + std::string(400, 'w') + std::to_string(i) + "\n";
  }
  code += "#error the one error\n";
  const auto reply = driver.Run(code);
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_LE(reply.report.log.size(), kMaxLogBytes);
  EXPECT_THAT(reply.report.log.substr(0, 100), HasSubstr("the one error"));
  EXPECT_THAT(reply.message, HasSubstr("kernel.cu(3001): #error directive: the one error"));
}

TEST(CompilePoolTest, AHugeModuleIsStoppedByTheOutputCap) {
  PoolDriver driver;
  const auto reply = driver.Run(
      "__device__ int table[12000000] = {1};\n__global__ void k(int* p) { *p = table[*p]; }\n",
      {"k"});
  EXPECT_EQ(reply.verdict, Verdict::kCompileFailed);
  EXPECT_THAT(reply.message, HasSubstr("The compile hit its output cap: the "));
}

TEST(CompilePoolTest, AChildKilledFromOutsideIsNobodysFault) {
  PoolDriver driver;
  driver.pool().Submit(PoolDriver::Job(kScale, {"f<1, 2>"}));
  ASSERT_EQ(driver.pool().Children().size(), 1u);
  ::kill(driver.pool().Children().front(), SIGKILL);
  const auto reply = driver.Drain(1).front();
  EXPECT_EQ(reply.verdict, Verdict::kInfraError);
  EXPECT_EQ(
      reply.message,
      "The compile process was killed from outside (Killed); the machine may be short of memory.");
  EXPECT_TRUE(driver.Run(kScale, {"f<1, 2>"}).ok);
}

TEST(CompilePoolTest, AFullDiskIsNotTheCandidatesFault) {
  auto dir = util::TempDir::Create("full-disk");
  ASSERT_TRUE(dir);
  if (::mount("none", dir->path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "needs root to mount a small file system";
  }
  {
    Options options;
    options.cache_dir = dir->path();
    PoolDriver driver(options);
    ASSERT_FALSE(
        util::WriteFileAtomic(dir->path() + "/ballast", std::string(1 << 20, 'x')).has_value());
    // Fill what is left, then let the compile try.
    FILE* ballast = std::fopen((dir->path() + "/rest").c_str(), "w");
    ASSERT_NE(ballast, nullptr);
    std::setvbuf(ballast, nullptr, _IONBF, 0);
    const std::string page(4096, 'x');
    while (std::fwrite(page.data(), page.size(), 1, ballast) == 1) {
    }
    std::fclose(ballast);
    const auto reply = driver.Run(kScale, {"f<8, 1>"});
    EXPECT_EQ(reply.verdict, Verdict::kInfraError) << reply.message;
    EXPECT_THAT(reply.message, HasSubstr("No space left on device"));
    std::filesystem::remove(dir->path() + "/rest");
    EXPECT_TRUE(driver.Run(kScale, {"f<8, 1>"}).ok);
  }
  ::umount(dir->path().c_str());
}

TEST(CompilePoolTest, BadJobsGetAReply) {
  PoolDriver driver;
  auto job = PoolDriver::Job(std::string("__global__ void k() {}\0", 23));
  EXPECT_EQ(driver.Run(job).message, "The code holds a NUL character; it must be plain text.");
  job = PoolDriver::Job("__global__ void k() {}");
  job.arch = "sm_90 --use_fast_math";
  EXPECT_EQ(driver.Run(job).verdict, Verdict::kInfraError);
  job.arch = "sm_11";
  const auto reply = driver.Run(job);
  EXPECT_EQ(reply.verdict, Verdict::kInfraError);
  EXPECT_THAT(reply.message, HasSubstr("architecture \"sm_11\""));
}

}  // namespace
}  // namespace cudaagent::compile

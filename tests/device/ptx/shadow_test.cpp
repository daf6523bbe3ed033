// Launches shadowed from a device whose memory cannot be reached: its addresses are mere numbers,
// what is known of it comes through DeviceMemory.
#include "device/shadow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

constexpr uint64_t kFirstAddress = 0x1000'0000'0000;  // no host memory lies there

class FarMemory : public DeviceMemory {
 public:
  struct Piece {
    uint64_t address;
    std::vector<uint8_t> data;
  };

  uint64_t Add(std::vector<uint8_t> data) {
    const uint64_t at = next_;
    next_ += (data.size() + 0xfffff) / 0x100000 * 0x100000 + 0x100000;
    pieces.push_back({at, std::move(data)});
    return at;
  }
  bool Read(uint64_t address, uint64_t bytes, void* to) override {
    if (broken) return false;
    for (const Piece& piece : pieces) {
      if (address < piece.address || address + bytes > piece.address + piece.data.size()) continue;
      std::memcpy(to, piece.data.data() + (address - piece.address), bytes);
      ++reads;
      read_bytes += static_cast<int64_t>(bytes);
      return true;
    }
    ++astray;
    return false;
  }
  uint64_t AddressOf(const std::string& variable, uint64_t bytes) override {
    const auto found = variables.find(variable);
    if (found == variables.end()) return 0;
    for (const Piece& piece : pieces) {
      if (piece.address != found->second) continue;
      EXPECT_EQ(piece.data.size(), bytes);
    }
    return found->second;
  }

  std::vector<Piece> pieces;
  std::map<std::string, uint64_t> variables;
  std::atomic<int> reads{0}, astray{0};
  std::atomic<int64_t> read_bytes{0};
  bool broken = false;

 private:
  uint64_t next_ = kFirstAddress;
};

// Kernels of one module and their launches.
class Far {
 public:
  explicit Far(const std::string& source, ShadowOptions options = {}) {
    char path[] = "/tmp/cudaagent_shadow_test_XXXXXX";
    close(mkstemp(path));
    path_ = path;
    std::ofstream(path_) << CompileToPtx(source);
    Artifact artifact;
    artifact.ptx_path = path_;
    artifact.lowered = {{"k", "k"}};
    shadow = OpenShadow(artifact, options);
  }
  ~Far() { unlink(path_.c_str()); }

  // A buffer of `bytes`, byte i holding `fill(i)`; the next argument points to it.
  template <class F>
  Far& Buffer(const std::string& name, size_t bytes, bool initialised, F fill) {
    std::vector<uint8_t> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(fill(i));
    const uint64_t at = memory.Add(std::move(data));
    regions_.push_back({name, reinterpret_cast<void*>(at), bytes, true, initialised});
    return Arg(at);
  }
  Far& Buffer(const std::string& name, size_t bytes, bool initialised = true) {
    return Buffer(name, bytes, initialised, [](size_t i) { return i * 37 % 251; });
  }
  template <class T>
  Far& Arg(T value) {
    const size_t at = (params_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    params_.resize(at + sizeof(T));
    std::memcpy(params_.data() + at, &value, sizeof(T));
    return *this;
  }
  Far& Begin() {
    shadow->SetRegions(regions_);
    return *this;
  }
  std::string Say(uint32_t grid, uint32_t block, bool cooperative = false, size_t shared = 0) {
    Launch launch;
    launch.kernel = "k";
    launch.grid = {grid, 1, 1};
    launch.block = {block, 1, 1};
    launch.cooperative = cooperative;
    launch.dynamic_shared_bytes = shared;
    launch.params = params_;
    if (!shadow->Wants(launch)) return "not wanted";
    const Checked<void> looked = shadow->Look(launch, memory);
    if (looked) return "ok";
    return std::string(ToString(looked.error().verdict)) + ": " + looked.error().message;
  }
  const RaceReport& report() const { return shadow->report(); }

  FarMemory memory;
  std::unique_ptr<Shadow> shadow;

 private:
  std::string path_;
  std::vector<MemoryRegion> regions_;
  std::vector<std::byte> params_;
};

constexpr const char* kNeighbours = R"(
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = x[i];
  SYNC
  y[i] = s[127 - t];
})";
std::string Neighbours(const std::string& sync) {
  std::string text = kNeighbours;
  return text.replace(text.find("SYNC"), 4, sync);
}

TEST(PtxShadow, FindsADroppedBarrierInASampleAndSaysWhereItLooked) {
  REQUIRE_NVRTC();
  Far far(Neighbours(""));
  far.Buffer("x", 4096 * 512).Buffer("y", 4096 * 512).Begin();
  const std::string said = far.Say(4096, 128);
  // In block order the reader runs before or after the writer: both are named.
  EXPECT_THAT(said, ::testing::StartsWith("device_fault: kernel k (line 7), block ("));
  EXPECT_THAT(said, HasSubstr("found by interpreting blocks of this launch"));
  EXPECT_GT(far.report().blocks, 0);
}

TEST(PtxShadow, LeavesAnHonestKernelAloneAndCountsWhatItLookedAt) {
  REQUIRE_NVRTC();
  ShadowOptions options;
  options.budget = 1'000'000;  // for 4096 * 128 threads too little: a sample
  Far far(Neighbours("__syncthreads();"), options);
  far.Buffer("x", 4096 * 512).Buffer("y", 4096 * 512, false).Begin();
  EXPECT_EQ(far.Say(4096, 128), "ok");
  EXPECT_EQ(far.Say(4096, 128), "ok");
  EXPECT_EQ(far.Say(4096, 128), "not wanted");  // two launches of each kernel
  EXPECT_EQ(far.report().kernels, 1);
  EXPECT_EQ(far.report().launches, 2);
  EXPECT_EQ(far.report().blocks, 16);
  EXPECT_THAT(far.report().remarks, IsEmpty());
}

TEST(PtxShadow, CopiesNothingButThePagesThatAreTouched) {
  REQUIRE_NVRTC();
  ShadowOptions options;
  options.budget = 1'000'000;
  options.threads = 1;
  Far far(Neighbours("__syncthreads();"), options);
  far.Buffer("x", 64 << 20).Buffer("y", 64 << 20).Begin();
  EXPECT_EQ(far.Say(131072, 128), "ok");
  EXPECT_GE(far.memory.reads, 2 * 2);
  EXPECT_LE(far.memory.reads, 2 * 8);  // a page of each buffer for each block
  EXPECT_LE(far.memory.read_bytes, 16 * (64 << 10));
  EXPECT_EQ(far.memory.astray, 0);
}

TEST(PtxShadow, RunsASmallGridWholeSoThatItsLastBlockIsSeen) {
  REQUIRE_NVRTC();
  const std::string text = R"(
__device__ unsigned finished;
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ bool last;
  __shared__ int s[64];
  if (threadIdx.x == 0) last = atomicAdd(&finished, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  s[threadIdx.x] = x[threadIdx.x];
  SYNC
  y[threadIdx.x] = s[63 - threadIdx.x];
  if (threadIdx.x == 0) finished = 0;
})";
  const auto said = [&](const std::string& sync, uint8_t finished) {
    std::string source = text;
    Far far(source.replace(source.find("SYNC"), 4, sync));
    far.Buffer("x", 256).Buffer("y", 256).Begin();
    far.memory.variables["finished"] = far.memory.Add({finished, 0, 0, 0});
    return far.Say(40, 64);
  };
  EXPECT_EQ(said("__syncthreads();", 0), "ok");
  EXPECT_THAT(said("", 0), HasSubstr("(line 11), block (39,0,0)"));
  // The ticket's value is the GPU's, not the module's first.
  EXPECT_THAT(said("", 10), HasSubstr("(line 11), block (29,0,0)"));
}

TEST(PtxShadow, AVariableNobodyCanLocateKeepsItsInitialValue) {
  REQUIRE_NVRTC();
  Far far(R"(
__device__ int table[4] = {1, 2, 3, 4};
__device__ int* where = table + 2;
extern "C" __global__ void k(int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = *where;
  if (*where != 3) __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
})");
  far.Buffer("y", 256).Begin();
  EXPECT_EQ(far.Say(1, 64), "ok");
  EXPECT_EQ(far.report().blocks, 1);
}

TEST(PtxShadow, ReportsAReadOfWhatNoBlockHasWrittenInTheFirstLaunchOnly) {
  REQUIRE_NVRTC();
  Far far(R"(
extern "C" __global__ void k(const int* scratch, int* y) {
  y[blockIdx.x * 32 + threadIdx.x] = scratch[blockIdx.x * 32 + threadIdx.x];
})");
  far.Buffer("scratch", 32 * 128, false).Buffer("y", 32 * 128, false).Begin();
  EXPECT_THAT(far.Say(32, 32), HasSubstr("scratch[0], which nothing has written"));
  EXPECT_EQ(far.Say(32, 32), "ok");  // an earlier launch may have
}

constexpr const char* kSpins = R"(
extern "C" __global__ void k(volatile int* flags, int* y) {
  if (blockIdx.x != 0 && threadIdx.x == 0) while (flags[blockIdx.x - 1] == 0) {}
  __syncthreads();
  y[blockIdx.x * 32 + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); flags[blockIdx.x] = 1; }
})";

TEST(PtxShadow, BlocksThatWaitForOneAnotherAreRunTogether) {
  REQUIRE_NVRTC();
  Far far(kSpins);
  far.Buffer("flags", 4 * 64, true, [](size_t) { return 0; }).Buffer("y", 64 * 128).Begin();
  EXPECT_EQ(far.Say(64, 32), "ok");
  EXPECT_EQ(far.report().blocks, 64);
}

TEST(PtxShadow, TooManyWaitingBlocksGetNoVerdictButARemark) {
  REQUIRE_NVRTC();
  Far far(kSpins);
  far.Buffer("flags", 4 * 8192, true, [](size_t) { return 0; }).Buffer("y", 8192 * 128).Begin();
  EXPECT_EQ(far.Say(8192, 32), "ok");
  EXPECT_THAT(far.report().remarks,
              ElementsAre("races: not looked for in kernel k (its blocks wait for one another, and "
                          "there are too many)"));
  EXPECT_EQ(far.report().kernels, 0);
  EXPECT_EQ(far.Say(8192, 32), "not wanted");
}

TEST(PtxShadow, ADeadlockOrAnAddressOutsideEveryBufferIsForTheGpuToFind) {
  REQUIRE_NVRTC();
  Far far(R"(extern "C" __global__ void k(int* y) { y[threadIdx.x + 100000000] = 1; })");
  far.Buffer("y", 256).Begin();
  EXPECT_EQ(far.Say(1, 64), "ok");
  EXPECT_THAT(far.report().remarks, ElementsAre(HasSubstr("the interpreter stopped: kernel k")));
}

TEST(PtxShadow, MemoryThatCannotBeReadGivesARemark) {
  REQUIRE_NVRTC();
  Far far(Neighbours("__syncthreads();"));
  far.Buffer("x", 512).Buffer("y", 512).Begin();
  far.memory.broken = true;
  EXPECT_EQ(far.Say(1, 128), "ok");
  EXPECT_THAT(far.report().remarks, ElementsAre(HasSubstr("could not be copied from the GPU")));
}

TEST(PtxShadow, KernelsThatTouchMoreMemoryThanIsCopiedGetARemark) {
  REQUIRE_NVRTC();
  ShadowOptions options;
  options.copied = 100'000;
  Far far(Neighbours("__syncthreads();"), options);
  far.Buffer("x", 64 << 20).Buffer("y", 64 << 20).Begin();
  EXPECT_EQ(far.Say(131072, 128), "ok");
  EXPECT_THAT(far.report().remarks, ElementsAre(HasSubstr("touch more memory than is copied")));
}

TEST(PtxShadow, ABlockThatNeedsMoreInstructionsThanThereAreGetsARemark) {
  REQUIRE_NVRTC();
  ShadowOptions options;
  options.budget = 100'000;
  Far far(R"(extern "C" __global__ void k(int* y) {
  unsigned v = threadIdx.x;
  for (int i = 0; i < 100000; ++i) v = v * 1664525 + y[v % 64];
  y[threadIdx.x] = v;
})",
          options);
  far.Buffer("y", 256).Begin();
  EXPECT_EQ(far.Say(100, 64), "ok");
  EXPECT_THAT(far.report().remarks, ElementsAre(HasSubstr("takes more instructions")));
}

TEST(PtxShadow, AnUnknownInstructionOrAMissingKernelGetsARemark) {
  REQUIRE_NVRTC();
  Far far(R"(extern "C" __global__ void k(int*) { asm volatile("wgmma.fence.sync.aligned;"); })");
  far.Buffer("y", 256).Begin();
  EXPECT_EQ(far.Say(1, 64), "ok");
  EXPECT_THAT(far.report().remarks, ElementsAre(HasSubstr("not looked for in kernel k")));
}

TEST(PtxShadow, ACooperativeGridRunsWholeOrNotAtAll) {
  REQUIRE_NVRTC();
  const std::string source = R"(
extern "C" __global__ void k(int* count, int* y) {
  if (threadIdx.x == 0) { atomicAdd(count, 1); while (*(volatile int*)count < gridDim.x) {} }
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = 1;
})";
  Far small(source), large(source);
  for (Far* far : {&small, &large}) {
    far->Buffer("count", 4, true, [](size_t) { return 0; }).Buffer("y", 4096 * 256).Begin();
  }
  EXPECT_EQ(small.Say(32, 64, true), "ok");
  EXPECT_EQ(small.report().blocks, 32);
  EXPECT_EQ(large.Say(4096, 64, true), "ok");
  EXPECT_THAT(large.report().remarks, ElementsAre(HasSubstr("cooperative and too large")));
}

// One of the corpus with a barrier's line taken out or put back; its plan's own arguments.
std::string Corpus(const std::string& name) {
  std::ifstream file(std::string(CUDAAGENT_SOURCE_DIR) + "/kernels/hacks/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  std::string source = std::move(text).str();
  const size_t kernel = source.find("__global__ void ");
  return kernel == std::string::npos ? source : source.insert(kernel, "extern \"C\" ");
}
std::string Renamed(std::string source, const std::string& from) {
  const std::string name = "void " + from + "(";
  const size_t at = source.find(name);
  return at == std::string::npos ? source : source.replace(at, name.size(), "void k(");
}

TEST(PtxShadow, TheHonestLastBlockPassesAndItsMutantDoesNot) {
  REQUIRE_NVRTC();
  const std::string honest = Renamed(Corpus("honest_last_block.cu"), "f");
  const auto said = [](const std::string& source) {
    Far far(source);
    far.Buffer("a", 4 << 16, true, [](size_t i) { return i % 4 == 3 ? 0x3f : 0; });
    far.Buffer("b", 4 << 16, true, [](size_t) { return 0; });
    far.Buffer("partial", 256, false).Buffer("y", 4, false).Arg(int64_t{1} << 16).Begin();
    far.memory.variables["finished"] = far.memory.Add({0, 0, 0, 0});
    const std::string heard = far.Say(64, 256);
    return heard + ", " + std::to_string(far.report().blocks) + " blocks" +
           ::testing::PrintToString(far.report().remarks);
  };
  EXPECT_EQ(said(honest), "ok, 64 blocks{}");
  std::string mutant = honest;
  const std::string return_early = "if (!last) return;";
  mutant.replace(mutant.find(return_early), return_early.size(), "if (last) return;");
  EXPECT_THAT(said(mutant), HasSubstr("partial["));
}

}  // namespace
}  // namespace cudaagent::device::ptx::test

#include "device/gpu/gpu_module.h"

#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "device/shadow.h"
#include "util/file.h"
#include "util/text.h"

namespace cudaagent::device::gpu {
namespace {

// Without opting in, a block may use this much shared memory, static and dynamic together.
constexpr size_t kDefaultSharedBytes = 48 << 10;

// The memory that a module's launches see. Host threads that were just started have no context.
class ContextMemory : public DeviceMemory {
 public:
  ContextMemory(CUmodule module, const Context& context) : module_(module), context_(context) {}

  bool Read(uint64_t address, uint64_t bytes, void* to) override {
    return context_.driver->cuCtxSetCurrent(context_.primary) == CUDA_SUCCESS &&
           context_.driver->cuMemcpyDtoH(to, address, bytes) == CUDA_SUCCESS;
  }
  uint64_t AddressOf(const std::string& variable, uint64_t bytes) override {
    CUdeviceptr address = 0;
    size_t size = 0;
    const CUresult result =
        context_.driver->cuModuleGetGlobal(&address, &size, module_, variable.c_str());
    return result == CUDA_SUCCESS && size >= bytes ? address : 0;
  }

 private:
  CUmodule module_;
  const Context& context_;
};

class GpuModule : public Module {
 public:
  GpuModule(CUmodule module, const Artifact& artifact, Context& context)
      : module_(module), context_(context) {
    for (const auto& [instance, mangled] : artifact.lowered) plan_names_[mangled] = instance;
    context_.suspects.clear();
  }

  ~GpuModule() override {
    // A kernel may still run; a poisoned context answers every call with its old error.
    if (!context_.poisoned) {
      context_.driver->cuCtxSynchronize();
      context_.driver->cuModuleUnload(module_);
    }
  }

  Checked<KernelInfo> Kernel(const std::string& mangled) override {
    auto function = Find(mangled);
    if (!function) return tl::unexpected(function.error());
    return (*function)->info;
  }

  Checked<void> Run(const Launch& launch) override {
    auto found = Find(launch.kernel);
    if (!found) return tl::unexpected(found.error());
    Function& function = **found;
    const std::string& name = plan_names_[launch.kernel];
    if (auto ready = OptIn(&function, launch, name); !ready) return ready;

    std::array<CUlaunchAttribute, 1> attributes{};
    CUlaunchConfig config{};
    config.gridDimX = launch.grid.x;
    config.gridDimY = launch.grid.y;
    config.gridDimZ = launch.grid.z;
    config.blockDimX = launch.block.x;
    config.blockDimY = launch.block.y;
    config.blockDimZ = launch.block.z;
    config.sharedMemBytes = static_cast<unsigned int>(launch.dynamic_shared_bytes);
    config.hStream = c10::cuda::getCurrentCUDAStream().stream();
    config.attrs = attributes.data();
    if (launch.cooperative) {
      if (auto fits = CheckResidency(function, launch, name); !fits) return fits;
      attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[0].value.cooperative = 1;
      config.numAttrs = 1;
    }
    std::vector<void*> params;
    for (const ParamLayout& each : function.info.params) {
      // The driver copies the values during the call.
      params.push_back(const_cast<std::byte*>(launch.params.data()) + each.offset);
    }
    if (auto shown = ShowToShadow(launch); !shown) return shown;
    const CUresult result =
        context_.driver->cuLaunchKernelEx(&config, function.handle, params.data(), nullptr);
    if (result != CUDA_SUCCESS) return tl::unexpected(context_.Record(result, name));
    auto& suspects = context_.suspects;
    if (std::find(suspects.begin(), suspects.end(), name) == suspects.end()) {
      suspects.push_back(name);
    }
    return {};
  }

  Checked<int64_t> BlocksPerSm(const std::string& mangled, int64_t threads,
                               int64_t shared_bytes) override {
    auto found = Find(mangled);
    if (!found) return tl::unexpected(found.error());
    Function& function = **found;
    const std::string name = function.info.resources.name;
    Launch launch;
    launch.dynamic_shared_bytes = static_cast<size_t>(shared_bytes);
    if (auto opted = OptIn(&function, launch, name); !opted) return tl::unexpected(opted.error());
    return Resident(function, static_cast<int>(threads), launch.dynamic_shared_bytes, name)
        .map([](int blocks) { return int64_t{blocks}; });
  }

 private:
  struct Function {
    CUfunction handle = nullptr;
    KernelInfo info;
    size_t opted_in_bytes = 0;  // dynamic shared memory allowed so far
  };

  // What ran before must have ended: the shadow reads the memory as the launch will see it.
  Checked<void> ShowToShadow(const Launch& launch) {
    if (context_.shadow == nullptr || !context_.shadow->Wants(launch)) return {};
    const CUresult result = context_.driver->cuCtxSynchronize();
    if (result != CUDA_SUCCESS) return tl::unexpected(context_.Record(result, ""));
    ContextMemory memory(module_, context_);
    return context_.shadow->Look(launch, memory);
  }

  Checked<Function*> Find(const std::string& mangled) {
    const auto known = functions_.find(mangled);
    if (known != functions_.end()) return &known->second;
    const auto plan_name = plan_names_.find(mangled);
    const std::string name = plan_name != plan_names_.end() ? plan_name->second : mangled;
    Function function;
    CUresult result =
        context_.driver->cuModuleGetFunction(&function.handle, module_, mangled.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) {
      return Blame(Verdict::kBadCandidate,
                   "Kernel \"" + name + "\" is not among the compiled code.");
    }
    if (result != CUDA_SUCCESS) return tl::unexpected(context_.Record(result, name));
    result = ReadParams(&function);
    if (result == CUDA_SUCCESS) result = ReadResources(&function);
    if (result != CUDA_SUCCESS) return tl::unexpected(context_.Record(result, name));
    function.info.resources.name = name;
    return &functions_.emplace(mangled, std::move(function)).first->second;
  }

  CUresult ReadParams(Function* function) const {
    for (size_t i = 0;; ++i) {
      ParamLayout layout;
      const CUresult result =
          context_.driver->cuFuncGetParamInfo(function->handle, i, &layout.offset, &layout.bytes);
      // One past the last parameter is an invalid value: that is how the driver tells the count.
      if (result == CUDA_ERROR_INVALID_VALUE) return CUDA_SUCCESS;
      if (result != CUDA_SUCCESS) return result;
      function->info.params.push_back(layout);
    }
  }

  CUresult ReadResources(Function* function) const {
    int registers = 0, local = 0, shared = 0, threads = 0;
    const std::pair<CUfunction_attribute, int*> wanted[] = {
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &registers},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads},
    };
    for (const auto& [attribute, value] : wanted) {
      const CUresult result =
          context_.driver->cuFuncGetAttribute(value, attribute, function->handle);
      if (result != CUDA_SUCCESS) return result;
    }
    KernelResources& resources = function->info.resources;
    resources.registers = registers;
    resources.local_bytes = local;
    resources.static_shared_bytes = shared;
    resources.max_threads = threads;
    return CUDA_SUCCESS;
  }

  Checked<void> OptIn(Function* function, const Launch& launch, const std::string& name) {
    const size_t dynamic = launch.dynamic_shared_bytes;
    const auto fixed = static_cast<size_t>(function->info.resources.static_shared_bytes);
    if (dynamic + fixed <= kDefaultSharedBytes || dynamic <= function->opted_in_bytes) return {};
    const CUresult result = context_.driver->cuFuncSetAttribute(
        function->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(dynamic));
    if (result != CUDA_SUCCESS) return tl::unexpected(context_.Record(result, name));
    function->opted_in_bytes = dynamic;
    return {};
  }

  Checked<int> Resident(const Function& function, int threads, size_t shared_bytes,
                        const std::string& name) const {
    int per_sm = 0;
    const CUresult result = context_.driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_sm, function.handle, threads, shared_bytes);
    if (result != CUDA_SUCCESS) return tl::unexpected(context_.Record(result, name));
    return per_sm;
  }

  Checked<void> CheckResidency(const Function& function, const Launch& launch,
                               const std::string& name) const {
    const int threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
    const int64_t blocks = int64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    auto found = Resident(function, threads, launch.dynamic_shared_bytes, name);
    if (!found) return tl::unexpected(found.error());
    const int per_sm = *found;
    const int64_t resident = int64_t{per_sm} * context_.sms;
    if (blocks <= resident) return {};
    return Blame(Verdict::kLaunchRejected,
                 "Kernel \"" + name + "\" is cooperative with " + std::to_string(blocks) +
                     " blocks, but only " + std::to_string(resident) +
                     " can be resident at once (" + std::to_string(per_sm) + " on each of " +
                     std::to_string(context_.sms) + " multiprocessors).");
  }

  CUmodule module_;
  Context& context_;
  std::map<std::string, std::string> plan_names_;  // mangled -> instance
  std::map<std::string, Function> functions_;      // by mangled name
};

}  // namespace

Checked<std::unique_ptr<Module>> LoadModule(const Artifact& artifact, Context& context) {
  auto image = util::ReadFile(artifact.cubin_path, size_t{512} << 20);
  if (!image) {
    return Blame(Verdict::kInfraError,
                 "The compiled code could not be read: " + image.error().message);
  }
  std::string log(4096, '\0');
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER,
                                         CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  const CUresult result = context.driver->cuModuleLoadDataEx(&module, image->data(), options.size(),
                                                             options.data(), values.data());
  if (result != CUDA_SUCCESS) {
    context.suspects.clear();
    Fault fault = context.Record(result, "");
    log.resize(log.find('\0') != std::string::npos ? log.find('\0') : log.size());
    const std::string detail = util::SanitiseLog(util::Trim(log), 500);
    fault.message = "The compiled code could not be loaded: " + ErrorName(result) +
                    (detail.empty() ? "." : ": " + detail);
    return tl::unexpected(std::move(fault));
  }
  return std::make_unique<GpuModule>(module, artifact, context);
}

}  // namespace cudaagent::device::gpu

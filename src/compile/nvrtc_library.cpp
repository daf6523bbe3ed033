#include "compile/nvrtc_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "util/text.h"

namespace cudaagent::compile {
namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// <venv>/bin/python -> <venv>/lib/python3.*/site-packages/nvidia/cu*. Links are not followed: a
// virtual environment's python is one to the system's. Without CUDAAGENT_PYTHON it is the Python
// this program was configured with.
std::vector<std::string> WheelRoots() {
  std::vector<std::string> roots;
  std::string python = Environment("CUDAAGENT_PYTHON");
  if (python.empty()) python = CUDAAGENT_CONFIGURED_PYTHON;
  std::error_code error;
  const fs::path lib = fs::path(python).parent_path().parent_path() / "lib";
  for (const auto& entry : fs::directory_iterator(lib, error)) {
    if (!util::StartsWith(entry.path().filename().string(), "python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      std::error_code ignored;
      for (const auto& cuda : fs::directory_iterator(entry.path() / packages / "nvidia", ignored)) {
        if (util::StartsWith(cuda.path().filename().string(), "cu1")) {
          roots.push_back(cuda.path().string());
        }
      }
    }
  }
  std::sort(roots.rbegin(), roots.rend());  // the newest first
  return roots;
}

std::string RealPath(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) == nullptr ? path : buffer;
}

std::string PathOfHandle(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return RealPath(map->l_name);
}

}  // namespace

std::vector<std::string> LibraryDirs(const ToolkitPlaces& places) {
  std::vector<std::string> dirs = places.nvrtc_dirs;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home = Environment(name); !home.empty()) {
      dirs.push_back(home + "/lib64");
      dirs.push_back(home + "/lib");
    }
  }
  for (std::string& dir : util::Split(Environment("LD_LIBRARY_PATH"), ':')) {
    if (!dir.empty()) dirs.push_back(std::move(dir));
  }
  dirs.push_back("/usr/local/cuda/lib64");
  for (const std::string& root : WheelRoots()) dirs.push_back(root + "/lib");
  return dirs;
}

Result<std::unique_ptr<NvrtcLibrary>> NvrtcLibrary::Load(const ToolkitPlaces& places) {
  void* handle = nullptr;
  std::vector<std::string> tried;
  std::string reason;
  const auto attempt = [&](const std::string& path) {
    tried.push_back(path);
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) reason = ::dlerror();
    return handle != nullptr;
  };
  if (!places.nvrtc_path.empty()) {
    attempt(places.nvrtc_path);
  } else {
    const std::vector<std::string> dirs = LibraryDirs(places);
    for (const char* soname : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      for (const std::string& dir : dirs) {
        const std::string path = dir + "/" + soname;
        if (handle == nullptr && IsFile(path)) attempt(path);
      }
      if (handle == nullptr) attempt(soname);
    }
  }
  if (handle == nullptr) {
    return Fail(
        ErrorCode::kEnvironment,
        "NVRTC could not be loaded (tried " + util::Join(tried, ", ") + ": " + reason +
            "). Install CUDA 13.0 or the torch wheels, or name the file with --nvrtc or the "
            "toolkit with CUDA_HOME.");
  }
  auto library = std::make_unique<NvrtcLibrary>();
  std::string missing;
  const auto take = [&](auto& function, const char* name, bool required = true) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr && required) missing = name;
  };
  int (*version)(int*, int*) = nullptr;
  take(version, "nvrtcVersion");
  take(library->CreateProgram, "nvrtcCreateProgram");
  take(library->DestroyProgram, "nvrtcDestroyProgram");
  take(library->AddNameExpression, "nvrtcAddNameExpression");
  take(library->CompileProgram, "nvrtcCompileProgram");
  take(library->GetProgramLogSize, "nvrtcGetProgramLogSize");
  take(library->GetProgramLog, "nvrtcGetProgramLog");
  take(library->GetPtxSize, "nvrtcGetPTXSize");
  take(library->GetPtx, "nvrtcGetPTX");
  take(library->GetCubinSize, "nvrtcGetCUBINSize");
  take(library->GetCubin, "nvrtcGetCUBIN");
  take(library->GetLoweredName, "nvrtcGetLoweredName");
  take(library->GetErrorString, "nvrtcGetErrorString");
  take(library->SetPchHeapSize, "nvrtcSetPCHHeapSize", false);
  take(library->GetPchCreateStatus, "nvrtcGetPCHCreateStatus", false);
  library->path_ = PathOfHandle(handle);
  int major = 0, minor = 0;
  if (missing.empty() && version(&major, &minor) != kNvrtcSuccess)
    missing = "a working nvrtcVersion";
  if (!missing.empty()) {
    return Fail(ErrorCode::kEnvironment,
                library->path_ + " is no usable NVRTC: it lacks " + missing +
                    ". Install CUDA 13.0, or name another file with --nvrtc.");
  }
  library->version_ = std::to_string(major) + "." + std::to_string(minor);
  // NVRTC opens this one by its bare name at the first compile; loaded here, from the same folder,
  // it is found without the loader's search, which the jail forbids.
  const std::string builtins = fs::path(library->path_).parent_path().string() +
                               "/libnvrtc-builtins.so." + library->version_;
  if (::dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return Fail(ErrorCode::kEnvironment,
                library->path_ + " lacks its companion: " + ::dlerror() +
                    ". Reinstall NVRTC, or name another one with --nvrtc.");
  }
  struct stat status {};
  ::stat(library->path_.c_str(), &status);
  library->fingerprint_ = library->version_ + "/" + std::to_string(status.st_size);
  return library;
}

Result<std::vector<std::string>> IncludeDirs(const NvrtcLibrary& library,
                                             const ToolkitPlaces& places) {
  std::vector<std::string> roots = {fs::path(library.path()).parent_path().parent_path().string() +
                                    "/include"};
  // lib64 may be a link to targets/x86_64-linux/lib, whose include lies beside it; both work.
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home = Environment(name); !home.empty())
      roots.push_back(home + "/include");
  }
  roots.push_back("/usr/local/cuda/include");
  for (const std::string& root : WheelRoots()) roots.push_back(root + "/include");

  // One root has to have everything: headers of two CUDA versions do not mix.
  constexpr const char* kNeeded[] = {"cuda_fp16.h", "crt/host_defines.h", "cuda/std/cstdint"};
  for (const std::string& root : roots) {
    std::vector<std::string> dirs = places.include_dirs;
    dirs.push_back(RealPath(root));
    dirs.push_back(RealPath(root) + "/cccl");
    const bool complete =
        std::all_of(std::begin(kNeeded), std::end(kNeeded), [&](const char* file) {
          return std::any_of(dirs.begin(), dirs.end(),
                             [&](const std::string& dir) { return IsFile(dir + "/" + file); });
        });
    if (complete) return dirs;
  }
  return Fail(ErrorCode::kEnvironment,
              "No folder has all of the CUDA headers (" +
                  util::Join({std::begin(kNeeded), std::end(kNeeded)}, ", ") + "; looked in " +
                  util::Join(roots, ", ") +
                  "). Install the CUDA 13.0 toolkit, or the packages nvidia-cuda-cccl and "
                  "nvidia-cuda-crt beside torch, or name a folder with --include-dir.");
}

}  // namespace cudaagent::compile

#include "device/ptx/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <vector>

namespace cudaagent::device::ptx::test {
namespace {

using Program = struct _nvrtcProgram*;

struct Api {
  std::string missing;
  std::string include;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
};

std::vector<std::string> Matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.push_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return paths;
}

Api Open() {
  Api api;
  std::vector<std::string> roots;
  if (const char* home = std::getenv("CUDA_HOME")) roots.push_back(home);
  roots.push_back("/usr/local/cuda");
  for (const std::string& wheel : Matches(std::string(CUDAAGENT_SOURCE_DIR) +
                                          "/.venv/lib/python3*/site-packages/nvidia/cu13")) {
    roots.push_back(wheel);
  }
  void* library = nullptr;
  std::string tried;
  for (const std::string& root : roots) {
    for (const char* folder : {"/lib64/", "/lib/"}) {
      std::string path = root + folder + "libnvrtc.so.13";
      tried += " " + path;
      if (library == nullptr &&
          (library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) != nullptr) {
        api.include = root + "/include";
        // NVRTC looks for its builtins by their bare name, which finds only what is loaded already
        // where the toolkit is no part of the loader's path.
        for (const std::string& builtins : Matches(root + folder + "libnvrtc-builtins.so.13*")) {
          dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
        }
      }
    }
  }
  if (library == nullptr) {
    api.missing = "no NVRTC, tried" + tried;
    return api;
  }
  auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) api.missing = std::string("NVRTC has no ") + name;
  };
  find("nvrtcCreateProgram", api.create);
  find("nvrtcCompileProgram", api.compile);
  find("nvrtcGetPTXSize", api.ptx_size);
  find("nvrtcGetPTX", api.ptx);
  find("nvrtcGetCUBINSize", api.cubin_size);
  find("nvrtcGetCUBIN", api.cubin);
  find("nvrtcGetProgramLogSize", api.log_size);
  find("nvrtcGetProgramLog", api.log);
  find("nvrtcDestroyProgram", api.destroy);
  return api;
}

const Api& TheApi() {
  static const Api api = Open();
  return api;
}

// Calls read(program) for what `source` compiles to. Throws with NVRTC's log.
template <class F>
std::string Compile(const std::string& source, const std::string& arch, F read) {
  const Api& api = TheApi();
  if (!api.missing.empty()) throw std::runtime_error(api.missing);
  Program program = nullptr;
  if (api.create(&program, source.c_str(), "candidate.cu", 0, nullptr, nullptr) != 0) {
    throw std::runtime_error("nvrtcCreateProgram failed");
  }
  std::string include = "-I" + api.include, cccl = "-I" + api.include + "/cccl";
  std::string target = "-arch=" + arch;
  std::vector<const char*> options = {target.c_str(), "-lineinfo", "-std=c++17", include.c_str(),
                                      cccl.c_str()};
  std::string text;
  if (api.compile(program, static_cast<int>(options.size()), options.data()) != 0) {
    size_t size = 0;
    api.log_size(program, &size);
    text.resize(size);
    api.log(program, text.data());
    api.destroy(&program);
    throw std::runtime_error("NVRTC: " + text);
  }
  text = read(program);
  api.destroy(&program);
  return text;
}

}  // namespace

std::string NvrtcMissing() { return TheApi().missing; }

std::string CompileToPtx(const std::string& source) {
  static std::map<std::string, std::string> cache;
  if (auto known = cache.find(source); known != cache.end()) return known->second;
  return cache[source] = Compile(source, "sm_90a", [](Program program) {
           size_t size = 0;
           TheApi().ptx_size(program, &size);
           std::string text(size, '\0');
           TheApi().ptx(program, text.data());
           text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
           return text;
         });
}

std::string CompileToCubin(const std::string& source, const std::string& arch) {
  return Compile(source, arch, [](Program program) {
    size_t size = 0;
    TheApi().cubin_size(program, &size);
    std::string bytes(size, '\0');
    TheApi().cubin(program, bytes.data());
    return bytes;
  });
}

}  // namespace cudaagent::device::ptx::test

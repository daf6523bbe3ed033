// CUDA C++ to a cubin for the GPU at hand, by the NVRTC torch brought along.
#pragma once

#include <dlfcn.h>
#include <glob.h>
#include <nvrtc.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "device/device.h"
#include "util/file.h"

namespace cudaagent::device {

// `path` is a folder of the test's own. Throws std::runtime_error with NVRTC's log.
class CubinCompiler {
 public:
  explicit CubinCompiler(std::string path) : path_(std::move(path)) {
    void* library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
    std::vector<std::string> places = {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13",
                                       "/usr/local/cuda/lib/libnvrtc.so.13"};
    const std::string wheel = std::string(CUDAAGENT_SOURCE_DIR) +
                              "/.venv/lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
    glob_t found;
    if (glob(wheel.c_str(), 0, nullptr, &found) == 0) places.emplace_back(found.gl_pathv[0]);
    globfree(&found);
    for (size_t i = 0; library == nullptr && i < places.size(); ++i) {
      library = dlopen(places[i].c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) throw std::runtime_error("no libnvrtc.so.13");
    Take(library, "nvrtcCreateProgram", &create_);
    Take(library, "nvrtcDestroyProgram", &destroy_);
    Take(library, "nvrtcAddNameExpression", &add_name_);
    Take(library, "nvrtcGetLoweredName", &lowered_);
    Take(library, "nvrtcCompileProgram", &compile_);
    Take(library, "nvrtcGetCUBINSize", &cubin_size_);
    Take(library, "nvrtcGetCUBIN", &cubin_);
    Take(library, "nvrtcGetProgramLogSize", &log_size_);
    Take(library, "nvrtcGetProgramLog", &log_);
  }

  // `kernels` are name expressions ("f<256>").
  Artifact Compile(const std::string& source, const std::string& arch,
                   const std::vector<std::string>& kernels) {
    nvrtcProgram program = nullptr;
    create_(&program, source.c_str(), "test.cu", 0, nullptr, nullptr);
    for (const std::string& kernel : kernels) add_name_(program, kernel.c_str());
    const std::string target = "--gpu-architecture=" + arch;
    const char* options[] = {target.c_str(), "--device-as-default-execution-space"};
    if (compile_(program, 2, options) != NVRTC_SUCCESS) {
      size_t bytes = 0;
      log_size_(program, &bytes);
      std::string log(bytes, '\0');
      log_(program, log.data());
      throw std::runtime_error(log);
    }
    Artifact artifact;
    for (const std::string& kernel : kernels) {
      const char* mangled = nullptr;
      if (lowered_(program, kernel.c_str(), &mangled) != NVRTC_SUCCESS) {
        throw std::runtime_error("no kernel " + kernel);
      }
      artifact.lowered[kernel] = mangled;
    }
    size_t bytes = 0;
    cubin_size_(program, &bytes);
    std::string cubin(bytes, '\0');
    cubin_(program, cubin.data());
    destroy_(&program);
    artifact.cubin_path = path_ + "/" + std::to_string(count_++) + ".cubin";
    if (auto written = util::WriteFileAtomic(artifact.cubin_path, cubin); !written) {
      throw std::runtime_error(written.error().message);
    }
    return artifact;
  }

 private:
  template <typename F>
  static void Take(void* library, const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library, name));
    if (*function == nullptr) throw std::runtime_error(std::string("NVRTC has no ") + name);
  }

  std::string path_;
  int count_ = 0;
  decltype(&nvrtcCreateProgram) create_ = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_ = nullptr;
  decltype(&nvrtcAddNameExpression) add_name_ = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_ = nullptr;
  decltype(&nvrtcCompileProgram) compile_ = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size_ = nullptr;
  decltype(&nvrtcGetCUBIN) cubin_ = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size_ = nullptr;
  decltype(&nvrtcGetProgramLog) log_ = nullptr;
};

}  // namespace cudaagent::device

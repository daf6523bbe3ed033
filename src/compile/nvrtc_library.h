// NVRTC by dlopen: nothing CUDA is linked, and nvrtc.h need not be there at build time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::compile {

// As in nvrtc.h, which documents them; only those the code tells apart.
enum NvrtcStatus : int {
  kNvrtcSuccess = 0,
  kNvrtcOutOfMemory = 1,
  kNvrtcInvalidOption = 5,
  kNvrtcBuiltinFailure = 7,
  kNvrtcNameExpressionNotValid = 10,
};

// Where CUDA lies on this machine, as options and environment have it.
struct ToolkitPlaces {
  std::string nvrtc_path;                 // --nvrtc: exactly this file
  std::vector<std::string> nvrtc_dirs;    // --nvrtc-dir, searched first
  std::vector<std::string> include_dirs;  // --include-dir, searched before the toolkit's own
};

// The folders a library of CUDA may lie in, best first: `nvrtc_dirs`, CUDA_HOME, CUDA_PATH,
// LD_LIBRARY_PATH, /usr/local/cuda, and the wheel folders nvidia/cu*/lib of CUDAAGENT_PYTHON, else
// of the Python this program was configured with.
std::vector<std::string> LibraryDirs(const ToolkitPlaces& places);

// One loaded libnvrtc. Stays loaded until the process ends: NVRTC is not made to be unloaded.
class NvrtcLibrary {
 public:
  using Program = struct OpaqueProgram*;

  // libnvrtc.so.13, else .12, in LibraryDirs, else wherever the loader finds it. kEnvironment, with
  // every place that was tried, where there is none or it lacks a function.
  static Result<std::unique_ptr<NvrtcLibrary>> Load(const ToolkitPlaces& places);

  const std::string& path() const { return path_; }        // links resolved
  const std::string& version() const { return version_; }  // "13.0"
  // Version, size and build of the file: two different libraries never have the same one.
  const std::string& fingerprint() const { return fingerprint_; }

  int (*CreateProgram)(Program*, const char* source, const char* name, int count,
                       const char* const* texts, const char* const* names) = nullptr;
  int (*DestroyProgram)(Program*) = nullptr;
  int (*AddNameExpression)(Program, const char*) = nullptr;
  int (*CompileProgram)(Program, int count, const char* const* options) = nullptr;
  int (*GetProgramLogSize)(Program, size_t*) = nullptr;
  int (*GetProgramLog)(Program, char*) = nullptr;
  int (*GetPtxSize)(Program, size_t*) = nullptr;
  int (*GetPtx)(Program, char*) = nullptr;
  int (*GetCubinSize)(Program, size_t*) = nullptr;
  int (*GetCubin)(Program, char*) = nullptr;
  int (*GetLoweredName)(Program, const char*, const char**) = nullptr;
  const char* (*GetErrorString)(int) = nullptr;
  // Null before NVRTC 12.8, which has no precompiled headers.
  int (*SetPchHeapSize)(size_t) = nullptr;
  int (*GetPchCreateStatus)(Program) = nullptr;

 private:
  std::string path_, version_, fingerprint_;
};

// The -I folders, in order: --include-dir, then `include` and `include/cccl` of the first complete
// root: the one the library belongs to, CUDA_HOME, CUDA_PATH, /usr/local/cuda, the wheels.
// kEnvironment where none is complete.
Result<std::vector<std::string>> IncludeDirs(const NvrtcLibrary& library,
                                             const ToolkitPlaces& places);

}  // namespace cudaagent::compile

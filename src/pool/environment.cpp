#include "pool/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "util/text.h"

namespace cudaagent::pool {
namespace {

constexpr std::array<std::string_view, 19> kNames = {"PATH",
                                                     "HOME",
                                                     "USER",
                                                     "LOGNAME",
                                                     "TMPDIR",
                                                     "TZ",
                                                     "CC",
                                                     "CXX",
                                                     "LANG",
                                                     "LANGUAGE",
                                                     "LD_LIBRARY_PATH",
                                                     "PYTHONPATH",
                                                     "PYTHONHASHSEED",
                                                     "VIRTUAL_ENV",
                                                     "CUDAAGENT_PYTHON",
                                                     "XDG_CACHE_HOME",
                                                     "OMP_NUM_THREADS",
                                                     "MKL_NUM_THREADS",
                                                     "MAX_JOBS"};
constexpr std::array<std::string_view, 9> kPrefixes = {
    "LC_",     "CUDA_",          "NVIDIA_", "CUBLAS_", "CUDNN_",
    "TRITON_", "TORCHINDUCTOR_", "TORCH_",  "PYTORCH_"};

bool Allowed(std::string_view name) {
  if (util::NamesSecret(name)) return false;  // whatever its prefix
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
           return name.substr(0, prefix.size()) == prefix;
         });
}

}  // namespace

std::vector<std::string> ChildEnvironment(const char* const* environment) {
  std::vector<std::string> allowed;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const size_t equals = entry.find('=');
    if (equals != entry.npos && Allowed(entry.substr(0, equals))) allowed.emplace_back(entry);
  }
  return allowed;
}

std::vector<std::string> ChildEnvironment() { return ChildEnvironment(environ); }

}  // namespace cudaagent::pool

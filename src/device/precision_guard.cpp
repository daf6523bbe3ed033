#include "device/precision_guard.h"

#include <ATen/Context.h>

namespace cudaagent::device {

PrecisionGuard::PrecisionGuard(const std::map<std::string, std::string>& precision) {
  at::Context& context = at::globalContext();
  const auto strict = [&](const char* what) {
    const auto found = precision.find(what);
    return found != precision.end() && found->second == "fp32";
  };
  if (strict("matmul") && context.allowTF32CuBLAS()) {
    context.setAllowTF32CuBLAS(false);
    restore_matmul_ = true;
  }
  if ((strict("conv") || strict("rnn")) && context.allowTF32CuDNN()) {
    context.setAllowTF32CuDNN(false);
    restore_cudnn_ = true;
  }
}

PrecisionGuard::~PrecisionGuard() {
  if (restore_matmul_) at::globalContext().setAllowTF32CuBLAS(true);
  if (restore_cudnn_) at::globalContext().setAllowTF32CuDNN(true);
}

}  // namespace cudaagent::device

// Holds ops to a plan's own precision where that is stricter than the run's, never looser.
#pragma once

#include <map>
#include <string>

namespace cudaagent::device {

// For a scope, on libtorch's global context. `precision`: the plan's, by kind of op ("matmul",
// "conv", "rnn"); "fp32" turns TF32 off.
class PrecisionGuard {
 public:
  explicit PrecisionGuard(const std::map<std::string, std::string>& precision);
  ~PrecisionGuard();
  PrecisionGuard(const PrecisionGuard&) = delete;
  PrecisionGuard& operator=(const PrecisionGuard&) = delete;

 private:
  bool restore_matmul_ = false;
  bool restore_cudnn_ = false;
};

}  // namespace cudaagent::device

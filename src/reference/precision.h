// TF32 as the run's policy says, for a scope. Legacy setters only: torch's newer per-backend ones
// make inductor fail. Process-wide settings; one thread at a time.
#pragma once

#include "cudaagent/problem.h"

namespace cudaagent::reference {

class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  bool matmul_before_;
  bool cudnn_before_;
};

}  // namespace cudaagent::reference

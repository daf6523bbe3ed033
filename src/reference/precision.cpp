#include "reference/precision.h"

#include <ATen/Context.h>

namespace cudaagent::reference {

PrecisionScope::PrecisionScope(Precision precision)
    : matmul_before_(at::globalContext().allowTF32CuBLAS()),
      cudnn_before_(at::globalContext().allowTF32CuDNN()) {
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::kTf32);
  at::globalContext().setAllowTF32CuDNN(precision != Precision::kFp32);
}

PrecisionScope::~PrecisionScope() {
  at::globalContext().setAllowTF32CuBLAS(matmul_before_);
  at::globalContext().setAllowTF32CuDNN(cudnn_before_);
}

}  // namespace cudaagent::reference

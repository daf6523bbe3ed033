// CUDA source of a program, from the templates of kernels/library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rewrite/program.h"

namespace cudaagent::rewrite {

// Choices that do not change what a kernel computes.
struct KernelStyle {
  int pointwise_threads = 256;
  int pointwise_unroll = 2;
  bool pointwise_persistent = false;  // a fixed grid that strides over the elements
  int row_items = 4;          // groups of elements per thread aimed at, for rows kept in registers
  int row_threads = 1024;     // threads per row where the row is read again for every pass
  bool row_registers = true;  // keep a row in registers where it fits
  bool row_lanes = true;      // several short rows per block, no shared memory
  int column_lanes = 32;
  int column_slices = 8;
};

struct KernelCode {
  std::string text;                  // "{{name}}" stands where the kernel's name goes
  std::vector<std::string> inputs;   // refs, in order of the parameters
  std::vector<std::string> outputs;  // refs, after the inputs
  std::string grid;                  // an expression of the plan
  int threads = 0;
  // Parameter and variable names replaced by numbers: equal for kernels that differ only there.
  std::string canonical;
};

// `aligned` says whether a tensor surely begins at a multiple of 16 bytes.
KernelCode EmitKernel(const Program& program, const KernelStyle& style,
                      const std::function<bool(const std::string&)>& aligned);

}  // namespace cudaagent::rewrite

// CUDA source of a program, from the templates of kernels/library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rewrite/program.h"

namespace cudaagent::rewrite {

// A choice that tuning cannot make: it changes the kernel's text.
struct KernelStyle {
  bool row_registers = true;  // keep a row (or column) in registers where it fits
  bool row_lanes = true;      // several short rows per block, no shared memory
};

// An entry of the plan's "tune": the first value is the default.
struct TuneEntry {
  std::string name;
  std::vector<int64_t> values;
};

// Memory that kernels of one program hand to each other.
struct Scratch {
  std::string name;      // unique within the program
  std::string elements;  // number of float32, an expression of the plan
};

// One kernel of a program; most programs have just one.
struct KernelCode {
  std::string text;                  // "{{name}}" stands where the kernel's name goes
  std::string suffix;                // of the name: "" or what sets it apart from its siblings
  std::vector<std::string> inputs;   // refs, in order of the parameters
  std::vector<std::string> outputs;  // refs, after the inputs
  std::vector<Scratch> scratch;      // after the outputs
  std::vector<std::string> template_arguments;  // as the plan writes them
  std::string grid;                             // expressions of the plan
  std::string threads;
  std::vector<TuneEntry> tune;  // what the expressions name
  // Parameter and variable names replaced by numbers: equal for kernels that differ only there.
  std::string canonical;
};

// In order of launch. `aligned` says whether a tensor surely begins at a multiple of 16 bytes.
std::vector<KernelCode> EmitKernels(const Program& program, const KernelStyle& style,
                                    const std::function<bool(const std::string&)>& aligned);

}  // namespace cudaagent::rewrite

// Resources of the kernels in a cubin: an ELF file whose sections are named after its kernels.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cudaagent/evaluation.h"

namespace cudaagent::compile {

// Mangled kernel name -> registers, local bytes (stack frame with spills), static shared bytes, and
// max_threads where __launch_bounds__ gave one. Empty where `cubin` is no 64-bit ELF for CUDA;
// malformed sections are skipped. `name` is left empty for the caller.
//
// Sources: sections .text.<kernel> and .nv.shared.<kernel>, and the attributes EIATTR_REGCOUNT,
// EIATTR_FRAME_SIZE (.nv.info) and EIATTR_MAX_THREADS (.nv.info.<kernel>), as cuobjdump
// --dump-resource-usage and readelf show them.
std::map<std::string, KernelResources> ReadCubin(std::string_view cubin);

}  // namespace cudaagent::compile

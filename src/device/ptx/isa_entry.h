// Where the two builds of isa/ are entered.
#pragma once

#include "device/ptx/ops.h"

namespace cudaagent::device::ptx {

namespace v3 {
Executor MakeExecutor(OpTable& table, Families& families);
}
namespace baseline {
Executor MakeExecutor(OpTable& table, Families& families);
}

// Built for x86-64-v3 (AVX2, FMA): call nothing of it on an older processor.
const Executor& V3Executor();

}  // namespace cudaagent::device::ptx

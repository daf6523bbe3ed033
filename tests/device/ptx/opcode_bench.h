// One PTX instruction on 32 lanes of chosen operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/ptx/ops.h"

namespace cudaagent::device::ptx::test {

// `types`: one letter per operand, destination first: h 16, w 32, l 64 bits, p predicate (a source
// predicate is true where its operand is not 0). `text` has operands as "D, A, B, C" and may hold
// several instructions. Inputs: one row of up to three operands per lane. Returns the raw
// destination; lanes that `mask` leaves out keep 0x5555... of its size. A failure of the device is
// a test failure.
std::vector<uint64_t> RunOpcode(const std::string& text, const std::string& types,
                                const std::vector<std::vector<uint64_t>>& rows,
                                const Executor& executor, uint32_t mask = 0xffffffffu);

}  // namespace cudaagent::device::ptx::test

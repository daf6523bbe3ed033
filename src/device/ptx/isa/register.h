// What each file of this build adds to its tables.
#pragma once

#include "device/ptx/ops.h"

namespace cudaagent::device::ptx::PTX_ISA {

void RegisterInteger(OpTable& table);
void RegisterCarry(OpTable& table);
void RegisterMove(OpTable& table);
void RegisterFloat(OpTable& table);
void RegisterDouble(OpTable& table);
void RegisterHalf(OpTable& table);
void RegisterCompare(OpTable& table);
void RegisterConvert(Families& families);
void RegisterMemory(Families& families);
void RegisterAtomics(Families& families);
void RegisterWarp(Families& families);
void RegisterControl(Families& families);
void RegisterMatrix(Families& families);
void RegisterAsync(Families& families);
Executor::Outcome RunWarp(Warp& warp);

// Adds everything above to the tables.
Executor MakeExecutor(OpTable& table, Families& families);

}  // namespace cudaagent::device::ptx::PTX_ISA

// One function per kind of kernel. Internal to emit*.cpp.
#pragma once

#include <string>
#include <vector>

#include "rewrite/emit.h"
#include "rewrite/kernel_text.h"

namespace cudaagent::rewrite {

KernelCode EmitPointwise(const Program& program, const KernelStyle& style, bool canonical,
                         const KernelText::Aligned& aligned);
KernelCode EmitRows(const Program& program, const KernelStyle& style, bool canonical,
                    const KernelText::Aligned& aligned);
KernelCode EmitColumns(const Program& program, const KernelStyle& style, bool canonical,
                       const KernelText::Aligned& aligned);

// Computes and stores one vector of elements of these outputs.
std::string ElementLoop(KernelText& text, const std::vector<size_t>& outputs,
                        const IndexNames& names);
// How many tiles cover the extent.
std::string TilesFor(int64_t extent, int64_t tile);

}  // namespace cudaagent::rewrite

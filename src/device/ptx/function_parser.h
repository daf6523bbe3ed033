// One .entry or .func: parameters, registers, scopes, labels, statements.
#pragma once

#include "device/ptx/text.h"
#include "device/ptx/text_reader.h"

namespace cudaagent::device::ptx {

// The reader stands behind ".entry" or ".func". Throws PtxError.
Function ParseFunction(TextReader& reader, bool entry);

}  // namespace cudaagent::device::ptx

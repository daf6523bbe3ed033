// A device in words. Private to this room.
#pragma once

#include <string>

#include "cudaagent/evaluation.h"

namespace cudaagent::prompt {

// Name, architecture, and what its kind is known for. Figures are the vendor's nominal ones and are
// called so; an unknown device gets none.
std::string DeviceFacts(const DeviceStamp& device);

}  // namespace cudaagent::prompt

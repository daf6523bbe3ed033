// The environment a child gets: an allow-list (docs/worker_protocol.md), so that no API key and no
// other secret of the driver's environment ever reaches a process that runs model.py or candidates.
#pragma once

#include <string>
#include <vector>

namespace cudaagent::pool {

// The allowed entries of `environment` ("NAME=value", ended by a null pointer, like environ).
std::vector<std::string> ChildEnvironment(const char* const* environment);
// Those of this process.
std::vector<std::string> ChildEnvironment();

}  // namespace cudaagent::pool

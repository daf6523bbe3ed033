// What measurements that are kept between runs depend on.
#pragma once

#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"

namespace cudaagent::evaluate {

// Of a device and what drives it. A new driver, torch or GPU means another measurement.
std::string DeviceKey(const DeviceStamp& device);

// Of torch.compile's times of a problem.
std::string BaselineKey(const std::string& problem_hash, const DeviceStamp& device,
                        Precision precision, bool warm_l2, const std::vector<std::string>& modes);

}  // namespace cudaagent::evaluate

#include "evaluate/keys.h"

#include "protocol/names.h"
#include "util/text.h"

namespace cudaagent::evaluate {
namespace {

// Raised when the way these are measured changes: old entries are then never found.
constexpr int kMeasurementVersion = 2;

}  // namespace

std::string DeviceKey(const DeviceStamp& device) {
  return util::Join({std::to_string(kMeasurementVersion), device.uuid, device.torch_version,
                     device.driver_version},
                    "\n");
}

std::string BaselineKey(const std::string& problem_hash, const DeviceStamp& device,
                        Precision precision, bool warm_l2, const std::vector<std::string>& modes) {
  return util::Join({DeviceKey(device), problem_hash, std::string(protocol::NameOf(precision)),
                     warm_l2 ? "warm" : "cold", util::Join(modes, " ")},
                    "\n");
}

}  // namespace cudaagent::evaluate

// While one driver times on a GPU no other uses it, but any number may check side by side: an
// advisory lock per device UUID, among all of one user's processes on this host. The kernel drops
// it with the process, however that ends.
#pragma once

#include <functional>
#include <string>

#include "cudaagent/result.h"
#include "util/fd.h"

namespace cudaagent::evaluate {

class DeviceLock {
 public:
  enum class Kind {
    kExclusive,  // for timing
    kShared,     // for checking alone
  };
  DeviceLock() = default;  // holds nothing

  // Waits up to `wait_s`, after one line to `progress` where it has to. kEnvironment after that.
  // `folder` is made when missing; one that belongs to somebody else is refused.
  static Result<DeviceLock> Take(const std::string& folder, const std::string& uuid, Kind kind,
                                 double wait_s,
                                 const std::function<void(const std::string&)>& progress);

 private:
  explicit DeviceLock(util::UniqueFd file) : file_(std::move(file)) {}
  util::UniqueFd file_;
};

}  // namespace cudaagent::evaluate

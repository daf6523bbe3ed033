// torch.compile's time of a problem, kept between runs: compiling a model takes up to minutes.
#pragma once

#include <optional>
#include <string>

#include "protocol/messages.h"

namespace cudaagent::evaluate {

// Everything that may change the figure; equal keys mean the same measurement.
struct BaselineKey {
  std::string problem_hash;
  std::string device_uuid;
  std::string torch_version;
  std::string driver_version;
  std::string precision;
  bool warm_l2 = false;
};

class BaselineCache {
 public:
  // `folder` is made when first written to. An empty one: nothing is kept.
  explicit BaselineCache(std::string folder) : folder_(std::move(folder)) {}

  // A file that is missing, damaged or of another version is no entry.
  std::optional<protocol::BaselineReply> Find(const BaselineKey& key) const;
  // A cache that cannot be written is a warning in the log, never an error.
  void Keep(const BaselineKey& key, const protocol::BaselineReply& reply) const;

 private:
  std::string PathOf(const BaselineKey& key) const;
  std::string folder_;
};

}  // namespace cudaagent::evaluate

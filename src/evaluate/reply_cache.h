// Replies of the worker that are dear to get, kept between runs as files.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "protocol/messages.h"

namespace cudaagent::evaluate {

class ReplyCache {
 public:
  // `folder` is made when first written to. An empty one: nothing is kept.
  explicit ReplyCache(std::string folder) : folder_(std::move(folder)) {}

  // `key`: everything that may change the reply. A file that is missing, damaged, of another
  // version or of another kind of reply is no entry.
  template <typename Reply>
  std::optional<Reply> Find(const std::string& key) const {
    std::optional<protocol::FromChild> message = Read(key);
    if (!message) return std::nullopt;
    auto* reply = std::get_if<Reply>(&*message);
    return reply != nullptr ? std::optional<Reply>(std::move(*reply)) : std::nullopt;
  }
  // A cache that cannot be written is a warning in the log, never an error.
  void Keep(const std::string& key, const protocol::FromChild& reply) const;

 private:
  std::optional<protocol::FromChild> Read(const std::string& key) const;
  std::string PathOf(const std::string& key) const;
  std::string folder_;
};

}  // namespace cudaagent::evaluate

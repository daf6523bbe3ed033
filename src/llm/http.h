// One POST over libcurl. Private to this room.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "llm/secret.h"

namespace cudaagent::llm {

struct HttpRequest {
  std::string url;
  std::string body;                // JSON
  const Secret* bearer = nullptr;  // null or empty = no Authorization header
  bool direct = false;             // no proxy, whatever the environment says
  double connect_timeout_s = 0;
  double idle_timeout_s = 0;  // without a byte in either direction
  double total_timeout_s = 0;
  // The bytes of an answer with status 200, as they come. False: enough is known, hang up. Must be
  // set; an answer of another status is kept in HttpReply::body.
  std::function<bool(std::string_view)> on_bytes;
  std::function<bool()> stop_requested;  // asked ten times a second; may be empty
};

enum class HttpEnd {
  kWhole,    // the server sent all it had to say
  kHungUp,   // `on_bytes` had enough
  kStopped,  // `stop_requested`
  kFailed,   // see `failure`
};

struct HttpReply {
  HttpEnd end = HttpEnd::kFailed;
  long status = 0;                             // 0 = no answer began
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;                            // where the status is not 200; its first 1 MiB
  std::string failure;                         // why the answer is not whole, in words
  bool transient = false;                      // the failure may go away by itself
};

// Blocks. Thread-safe. Never follows a redirect; speaks http and https only; verifies certificates
// (SSL_CERT_FILE names other roots).
HttpReply Post(const HttpRequest& request);

}  // namespace cudaagent::llm

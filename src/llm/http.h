// One POST over libcurl. Private to this room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "llm/secret.h"

namespace cudaagent::llm {

struct HttpRequest {
  std::string url;
  std::string body;                // JSON
  const Secret* bearer = nullptr;  // null or empty = no Authorization header
  bool direct = false;             // no proxy, whatever the environment says
  double timeout_s = 0;
  double connect_timeout_s = 0;
  size_t max_body_bytes = 0;
};

struct HttpReply {
  long status = 0;                             // 0 = no answer, see `failure`
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
  std::string failure;     // why there is no answer, in words
  bool transient = false;  // the failure may go away by itself
};

// Thread-safe. Never follows a redirect; speaks http and https only; verifies certificates
// (SSL_CERT_FILE names other roots).
HttpReply Post(const HttpRequest& request);

}  // namespace cudaagent::llm

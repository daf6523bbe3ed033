// Where requests go: a base URL taken apart and judged. Private to this room.
#pragma once

#include <string>

#include "cudaagent/result.h"

namespace cudaagent::llm {

struct Endpoint {
  std::string url;        // of chat completions
  std::string host;       // for messages: "api.openai.com", "127.0.0.1:8000"
  bool loopback = false;  // localhost, 127.0.0.0/8, ::1
  bool encrypted = false;
  bool is_default = false;  // OpenAI's own, encrypted
};

// kUsage for anything but http(s)://host[:port][/path].
Result<Endpoint> ParseEndpoint(const std::string& base_url);

}  // namespace cudaagent::llm

// OpenAI's chat completions over HTTP, which vLLM, llama.cpp, Ollama (/v1), DeepSeek, OpenRouter
// and many others speak too. Answers are streamed; a server that does not stream is understood as
// well.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cudaagent/llm_client.h"
#include "cudaagent/result.h"
#include "llm/retry.h"
#include "llm/secret.h"

namespace cudaagent::llm {

inline constexpr const char* kDefaultBaseUrl = "https://api.openai.com/v1";
inline constexpr const char* kDefaultKeyEnv = "OPENAI_API_KEY";

struct LlmConfig {
  std::string model;                       // required: "gpt-5", "qwen3-coder", ...
  std::string base_url = kDefaultBaseUrl;  // up to and without "/chat/completions"
  std::string api_key_env;        // empty = OPENAI_API_KEY, for the default host and loopback
  double idle_timeout_s = 600;    // without a byte
  double total_timeout_s = 3600;  // of one request: a server may send keep-alives for ever
  double connect_timeout_s = 10;
  RetryLimits retry;
  int64_t max_output_tokens = 32768;  // 0 = the server's own limit
  double temperature = -1;            // below 0 = the server's own
  size_t max_answer_bytes = size_t{32} << 20;
  std::function<bool()> stop_requested;  // asked ten times a second; may be empty
};

// The key is sent to the default host and to loopback; with `api_key_env` named, to wherever
// `base_url` points. It leaves the process environment (secret.h) whether or not it is sent, so
// call this before threads start. kUsage where the model or URL is missing or malformed,
// `api_key_env` names a variable that is not set, or the default host has no key.
Result<std::unique_ptr<LlmClient>> MakeOpenAiClient(LlmConfig config);

}  // namespace cudaagent::llm

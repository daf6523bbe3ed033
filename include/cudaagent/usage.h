// What asking a language model cost, in its own tokens. Named as OpenAI's chat completions do,
// which most of the field follows.
#pragma once

#include <cstdint>

namespace cudaagent {

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;  // reasoning included
  int64_t reasoning_tokens = 0;   // of completion_tokens; 0 = none, or not told
  int64_t cached_tokens = 0;      // of prompt_tokens, read from the provider's cache

  int64_t total_tokens() const { return prompt_tokens + completion_tokens; }
  Usage& operator+=(const Usage& other) {
    prompt_tokens += other.prompt_tokens;
    completion_tokens += other.completion_tokens;
    reasoning_tokens += other.reasoning_tokens;
    cached_tokens += other.cached_tokens;
    return *this;
  }
};

}  // namespace cudaagent

// The prelude and the shim headers (src/compile/headers), as text inside the program.
#pragma once

#include <string>
#include <vector>

namespace cudaagent::compile {

inline constexpr const char* kPreludeName = "/cudaagent/prelude.h";

// `name` is what stands between the angle brackets of an #include.
struct EmbeddedHeader {
  const char* name;
  const char* text;
};

const std::vector<EmbeddedHeader>& EmbeddedHeaders();

// Changes whenever any embedded header does. Part of the cache key.
const std::string& EmbeddedHeadersHash();

}  // namespace cudaagent::compile

// Content hashes.
#pragma once

#include <string>
#include <string_view>

namespace cudaagent::util {

// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace cudaagent::util

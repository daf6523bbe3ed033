#include "rewrite/float_text.h"

#include <charconv>
#include <cmath>

namespace cudaagent::rewrite {

std::string FloatText(double number) {
  const float value = static_cast<float>(number);
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

}  // namespace cudaagent::rewrite

// Numbers as CUDA C++ source.
#pragma once

#include <string>

namespace cudaagent::rewrite {

// The nearest float as a literal that reads back to it: 3.25 -> "3.25f". Infinities and NaN by
// name.
std::string FloatText(double number);

}  // namespace cudaagent::rewrite

// Tolerance tiers. An element passes tier t where |got - expected| <= atol + rtol * |expected| with
// rtol = t's number for the output's dtype and atol = the same number times the RMS of the expected
// output, so that an output of small values cannot be passed by zeros. Integers are exact.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <optional>
#include <string_view>

namespace cudaagent::verify {

// In the order they are reported, strictest first for float32.
inline constexpr std::array<std::string_view, 3> kTierNames = {"kernelbench", "verified",
                                                               "cuda-agent"};

// nullopt for a name that is no tier. `dtype` is the output's; float64 counts as float32 and every
// floating type of two bytes or fewer that is not float16 counts as bfloat16.
std::optional<double> TierTolerance(std::string_view tier, c10::ScalarType dtype);

}  // namespace cudaagent::verify

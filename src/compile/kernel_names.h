// Names of kernels, in code and as the linker sees them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::compile {

// "_Z1fILi256EEvPK6float4i" -> "f<256>(float4 const*, int)": no return type, for kernels have none.
// A name that is not mangled (extern "C") stands for itself.
std::string Signature(std::string_view mangled);

// The __global__ functions a file defines or declares, in order, each once: the identifier before
// the parameter list. Comments, strings and preprocessor lines are skipped.
std::vector<std::string> GlobalFunctions(std::string_view source);

}  // namespace cudaagent::compile

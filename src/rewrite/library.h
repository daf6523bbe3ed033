// The templates of kernels/library, embedded at build time.
#pragma once

#include <map>
#include <string>

namespace cudaagent::rewrite {

// File name -> text.
const std::map<std::string, std::string>& LibraryFiles();

// The template with every {{name}} replaced. A value of several lines takes the indentation of its
// placeholder; a line that holds nothing but an empty placeholder vanishes. An unknown placeholder
// is a bug of ours: FatalError.
std::string FillTemplate(const std::string& file, const std::map<std::string, std::string>& values);

// The library pieces `code` names, and those they name, in the library's order, with the headers
// they need before them.
std::string LibraryPieces(const std::string& code);

}  // namespace cudaagent::rewrite

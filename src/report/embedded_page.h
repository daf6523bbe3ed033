// The page's own files as texts of the program.
#pragma once

#include <map>
#include <string>

namespace cudaagent::report {

const std::map<std::string, std::string>& EmbeddedPage();

}  // namespace cudaagent::report

// configs/problem_quality.json as a text of the program.
#pragma once

#include <map>
#include <string>

namespace cudaagent::bench {

const std::map<std::string, std::string>& EmbeddedQuality();

}  // namespace cudaagent::bench

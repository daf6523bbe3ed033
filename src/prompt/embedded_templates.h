// The files of configs/prompts as the program was built with them. Private to this room.
#pragma once

#include <map>
#include <string>

namespace cudaagent::prompt {

// File name -> text.
const std::map<std::string, std::string>& EmbeddedTemplates();

}  // namespace cudaagent::prompt

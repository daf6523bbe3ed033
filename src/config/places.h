// Where settings files lie.
#pragma once

#include <string>

namespace cudaagent::config {

// The nearest cudaagent.toml from `folder` upwards, no higher than the folder that holds .git;
// outside a git work tree only `folder` itself is looked at, so that a stranger's file in /tmp
// never counts. "" = none.
std::string ProjectFile(const std::string& folder);

// $XDG_CONFIG_HOME/cudaagent/config.toml; it need not exist.
std::string UserFile();

}  // namespace cudaagent::config

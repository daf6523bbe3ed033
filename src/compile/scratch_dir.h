// A private folder that lives as long as this process. Should the process be killed, the next one
// to make a folder in the same place removes it: the owner holds a lock on it, and a dead owner
// none.
#pragma once

#include <string>

#include "cudaagent/result.h"
#include "util/fd.h"

namespace cudaagent::compile {

class ScratchDir {
 public:
  // A fresh folder <parent>/run-XXXXXX, mode 0700. `parent` is made where it is missing.
  static Result<ScratchDir> Create(const std::string& parent);
  ScratchDir(ScratchDir&& other) noexcept = default;
  ~ScratchDir();

  const std::string& path() const { return path_; }

 private:
  ScratchDir() = default;
  std::string path_;
  util::UniqueFd lock_;
};

}  // namespace cudaagent::compile

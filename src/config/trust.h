// Which project files the user trusts. A file is trusted as it is and where it is: one that changes
// or is copied elsewhere has to be trusted again.
#pragma once

#include <map>
#include <string>

#include "cudaagent/result.h"

namespace cudaagent::config {

enum class Trust { kTrusted, kUnknown, kChanged };

class TrustList {
 public:
  // <StateDir>/trusted, one "<SHA-256>  <path>" a line. A file that is missing is an empty list; a
  // line that makes no sense is no trust.
  static TrustList Load();
  explicit TrustList(std::string file) : file_(std::move(file)) {}

  Trust Of(const std::string& path, const std::string& hash) const;
  // Both write the list. `path` is absolute. False: it was not there.
  Result<void> Add(const std::string& path, const std::string& hash);
  Result<bool> Remove(const std::string& path);

  const std::string& file() const { return file_; }

 private:
  Result<void> Save() const;
  std::string file_;
  std::map<std::string, std::string> hashes_;  // by path
};

}  // namespace cudaagent::config

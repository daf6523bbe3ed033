// One settings file: TOML, every setting a top-level key. Owns toml++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::config {

enum class ValueKind { kText, kInteger, kNumber, kBoolean, kOther };

// For messages: "a text in quotes", "an integer", "a number", "true or false".
std::string_view Describe(ValueKind kind);

struct FileValue {
  std::string key;
  ValueKind kind = ValueKind::kOther;
  std::string
      text;  // as a flag would be given: 20, 0.5, true, gpt-5; what it is ("an array") for kOther
  int line = 0;  // of the value, from 1
};

struct SettingsFile {
  std::string path;
  std::string hash;  // SHA-256 of its bytes
  std::vector<FileValue> values;
};

// kUsage "PATH:LINE: ..." where the text is no TOML. `path` is for messages.
Result<SettingsFile> ParseSettings(std::string_view text, const std::string& path);

// kUsage where the file cannot be read or is larger than 1 MiB.
Result<SettingsFile> ReadSettings(const std::string& path);

// A TOML string: quoted, with escapes.
std::string Quote(std::string_view text);

}  // namespace cudaagent::config

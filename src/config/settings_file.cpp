#include "config/settings_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"

namespace cudaagent::config {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

// The shortest text that reads back as the same number.
std::string NumberText(double value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

FileValue ToFileValue(std::string_view key, const toml::node& node) {
  FileValue value;
  value.key = util::SanitiseUtf8(key);
  value.line = static_cast<int>(node.source().begin.line);
  if (const auto* text = node.as_string()) {
    value.kind = ValueKind::kText;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = ValueKind::kInteger;
    value.text = std::to_string(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    value.kind = ValueKind::kNumber;
    value.text = NumberText(number->get());
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = ValueKind::kBoolean;
    value.text = boolean->get() ? "true" : "false";
  } else {
    value.text = node.is_table() ? "a table" : node.is_array() ? "an array" : "a date or time";
  }
  return value;
}

// toml++ makes a table for every part of a dotted key and walks them recursively: tens of thousands
// of parts would end the stack. No key of ours has more than one. Returns the line that has too
// many, 0 = none.
int LineWithTooManyParts(std::string_view text) {
  constexpr int kMostDots = 64;
  int line = 1, dots = 0;
  char quote = 0;
  for (char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
      quote = 0;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.' && ++dots > kMostDots) {
      return line;
    }
  }
  return 0;
}

}  // namespace

std::string_view Describe(ValueKind kind) {
  switch (kind) {
    case ValueKind::kText:
      return "a text in quotes";
    case ValueKind::kInteger:
      return "an integer";
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kBoolean:
      return "true or false";
    case ValueKind::kOther:
      return "a value";
  }
  return "a value";
}

Result<SettingsFile> ParseSettings(std::string_view text, const std::string& path) {
  SettingsFile file;
  file.path = path;
  file.hash = util::Sha256Hex(text);
  if (const int line = LineWithTooManyParts(text)) {
    return Fail(ErrorCode::kUsage,
                path + ":" + std::to_string(line) +
                    ": a key of far too many parts; no setting has more than one.");
  }
  try {
    const toml::table table = toml::parse(text, path);
    for (const auto& [key, node] : table) file.values.push_back(ToFileValue(key.str(), node));
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                path + ":" + std::to_string(error.source().begin.line) +
                    ": this is not TOML: " + util::SanitiseLog(error.description()) + ".");
  }
  std::sort(file.values.begin(), file.values.end(),
            [](const FileValue& a, const FileValue& b) { return a.line < b.line; });
  return file;
}

Result<SettingsFile> ReadSettings(const std::string& path) {
  auto text = util::ReadFile(path, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  return ParseSettings(*text, path);
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : util::SanitiseUtf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace cudaagent::config

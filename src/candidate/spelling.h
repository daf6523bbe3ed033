// Words for error sentences: quoting what a stranger wrote, and "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::candidate {

// `text` in double quotes, control characters as \xNN, cut after `limit` bytes with "...".
std::string Quote(std::string_view text, size_t limit = 80);

// "; did you mean \"nearest\"?" where there is one, else "; known: a, b, c" (at most `limit` names,
// nothing where `known` is empty).
std::string Suggest(std::string_view name, const std::vector<std::string>& known,
                    size_t limit = 12);

// 1-based line of byte `offset` in `text`.
int LineOf(std::string_view text, size_t offset);

// Byte offset of the first byte that is not valid UTF-8, or npos.
size_t FindInvalidUtf8(std::string_view text);

// [A-Za-z_][A-Za-z0-9_]*
bool IsIdentifier(std::string_view text);
constexpr bool IsIdentifierStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsIdentifierChar(char c) { return IsIdentifierStart(c) || IsDigit(c); }
constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace cudaagent::candidate

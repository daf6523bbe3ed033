#include "llm/secret.h"

#include <cstdlib>
#include <cstring>

namespace cudaagent::llm {
namespace {

constexpr std::string_view kRedacted = "[redacted]";
// Shorter ones ("EMPTY", "none") are placeholders, and words besides.
constexpr size_t kMinKeyBytes = 8;

bool IsKeyChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::strchr("-_.*~+/=", c) != nullptr;
}

void Overwrite(char* bytes, size_t count) {
  volatile char* at = bytes;
  for (size_t i = 0; i < count; ++i) at[i] = 0;
}

std::string PercentEncoded(const std::string& text) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

void ReplaceAll(std::string* text, const std::string& what) {
  for (size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + kRedacted.size())) {
    text->replace(at, what.size(), kRedacted);
  }
}

// Replaces the run of key characters after each `prefix`, if it is long enough to be one.
void RedactAfter(std::string* text, std::string_view prefix, bool keep_prefix) {
  for (size_t at = text->find(prefix); at != std::string::npos; at = text->find(prefix, at)) {
    const size_t begin = at + prefix.size();
    size_t end = begin;
    while (end < text->size() && IsKeyChar((*text)[end])) ++end;
    if (end - begin < kMinKeyBytes || (at > 0 && !keep_prefix && IsKeyChar((*text)[at - 1]))) {
      at = begin;
      continue;
    }
    const size_t from = keep_prefix ? begin : at;
    text->replace(from, end - from, kRedacted);
    at = from + kRedacted.size();
  }
}

// Providers quote keys in part. Any piece of eight bytes or more goes.
void RedactPieces(const std::string& key, std::string* text) {
  constexpr size_t kPiece = 8;
  for (size_t at = 0; at + kPiece <= text->size(); ++at) {
    size_t length = kPiece;
    if (key.find(text->substr(at, length)) == std::string::npos) continue;
    while (at + length < text->size() &&
           key.find(text->substr(at, length + 1)) != std::string::npos) {
      ++length;
    }
    text->replace(at, length, kRedacted);
    at += kRedacted.size() - 1;
  }
}

}  // namespace

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    Wipe();
    value_ = std::move(other.value_);
    other.Wipe();
  }
  return *this;
}

void Secret::Wipe() {
  Overwrite(value_.data(), value_.size());
  value_.clear();
}

std::string Secret::Without(std::string_view text) const {
  std::string cleaned(text);
  if (value_.size() >= kMinKeyBytes) {
    ReplaceAll(&cleaned, value_);
    ReplaceAll(&cleaned, PercentEncoded(value_));
  }
  return cleaned;
}

std::string Secret::Redact(std::string_view text) const {
  std::string redacted = Without(text);
  for (std::string_view prefix : {"sk-", "AIza", "gsk_", "xai-", "hf_", "nvapi-", "ghp_"}) {
    RedactAfter(&redacted, prefix, false);
  }
  for (std::string_view prefix : {"Bearer ", "bearer ", "api_key=", "key="}) {
    RedactAfter(&redacted, prefix, true);
  }
  if (value_.size() >= kMinKeyBytes) RedactPieces(value_, &redacted);
  return redacted;
}

std::optional<Secret> TakeFromEnvironment(const std::string& name) {
  char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  Secret secret{std::string(value)};
  Overwrite(value, std::strlen(value));
  unsetenv(name.c_str());
  return secret;
}

}  // namespace cudaagent::llm

// A key: read from the environment, wiped from it, and kept out of every text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cudaagent::llm {

// Holds the bytes; overwrites them when it goes. Never printed.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.Wipe(); }
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { Wipe(); }

  bool empty() const { return value_.empty(); }
  const std::string& Reveal() const { return value_; }
  // `text` with every occurrence of the key, also percent-encoded, replaced by "[redacted]".
  std::string Without(std::string_view text) const;
  // Without(), and everything else that looks like a key ("sk-...", "Bearer ...") replaced too. For
  // messages: in an answer it would harm code.
  std::string Redact(std::string_view text) const;

 private:
  void Wipe();
  std::string value_;
};

// Takes a variable out of the environment: returns its value (nullopt = not set), overwrites its
// bytes where the kernel shows them (/proc/PID/environ), and unsets it, so that neither a child nor
// another process of the user reads it later. Not thread-safe: call before threads start.
std::optional<Secret> TakeFromEnvironment(const std::string& name);

}  // namespace cudaagent::llm

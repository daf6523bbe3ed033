// Small text functions. Byte-wise unless said otherwise; none depends on the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::util {

std::string_view Trim(std::string_view text);  // white space at both ends
// Splits at every `separator`; "" gives one empty piece.
std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& pieces, std::string_view separator);
std::string ToLower(std::string_view text);  // ASCII letters only
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);

// Whether a variable's name says that it holds a secret: KEY, TOKEN, SECRET, PASSWORD, PASSWD,
// CREDENTIAL.
bool NamesSecret(std::string_view name);

// The known name nearest to `name` by edit distance (case ignored), where it is near enough to be
// what was meant: at most a third of the longer name's length, at least one edit.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& known);
// " Did you mean \"x\"?" or "", ready to follow a sentence.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

// Invalid UTF-8 becomes U+FFFD.
std::string SanitiseUtf8(std::string_view text);
// Fit to print and to send to a model: valid UTF-8, ANSI escape sequences removed, control
// characters but newline and tab removed ("\r\n" = "\n"). Longer than `max_bytes`: the first and
// the last part with a line between them that says how many bytes were left out.
std::string SanitiseLog(std::string_view text, size_t max_bytes = 16384);

std::string FormatSeconds(
    double seconds);                     // "850 us", "12.3 ms", "4.2 s", "3 min 20 s", "2 h 5 min"
std::string FormatBytes(int64_t bytes);  // "512 B", "1.5 KiB", "6.4 GiB"

}  // namespace cudaagent::util

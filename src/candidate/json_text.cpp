#include "candidate/json_text.h"

#include <string>
#include <vector>

#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

constexpr size_t kMaxDepth = 48;
constexpr size_t kMaxValues = 200'000;
constexpr size_t kMaxKeys = 4096;  // of one object: finding a duplicate is a walk over all

// Builds the document and stops at the first thing that is not allowed.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    Json& object = *open_.back();
    if (object.contains(name)) return Refuse("the key " + Quote(name) + " is written twice");
    if (object.size() >= kMaxKeys) {
      return Refuse("an object has more than " + std::to_string(kMaxKeys) + " keys");
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    error_at_ = position == 0 ? 0 : position - 1;
    if (const size_t comma = TrailingComma(token); comma != std::string_view::npos) {
      error_at_ = comma;
      return Refuse("trailing comma; JSON wants none before a closing bracket");
    }
    std::string what = error.what();
    // Past "[json.exception...]" and "parse error at line L, column C: ", whose line is the text's.
    if (const size_t at = what.find("] "); at != std::string::npos) what.erase(0, at + 2);
    if (const size_t at = what.find("syntax error"); at != std::string::npos) what.erase(0, at);
    if (what.find("end of input") != std::string::npos) {
      what += "; the plan ends at the first \"*/\", which must not occur inside it";
    }
    return Refuse("invalid JSON: " + what);
  }

  Json&& document() { return std::move(document_); }
  const std::string& error() const { return error_; }
  // Where the parser said it failed; npos where the document itself was refused.
  size_t error_at() const { return error_at_; }

 private:
  bool Refuse(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }

  Json* Put(Json&& value) {
    if (open_.empty()) {
      document_ = std::move(value);
      return &document_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }
  bool Add(Json value) {
    if (++values_ > kMaxValues) {
      return Refuse("the plan has more than " + std::to_string(kMaxValues) + " values");
    }
    Put(std::move(value));
    return true;
  }
  // Pointers into open_ stay valid: a container grows only while it is the innermost open one.
  bool Open(Json&& container) {
    if (open_.size() >= kMaxDepth) {
      return Refuse("the plan nests deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    if (++values_ > kMaxValues) {
      return Refuse("the plan has more than " + std::to_string(kMaxValues) + " values");
    }
    open_.push_back(Put(std::move(container)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  // The comma before the "]" or "}" the parser stumbled over, comments between them skipped.
  size_t TrailingComma(const std::string& token) const {
    if (token.empty() || (token.back() != ']' && token.back() != '}')) {
      return std::string_view::npos;
    }
    size_t comma = std::string_view::npos;
    bool in_string = false;
    for (size_t i = 0; i < error_at_ && i < text_.size(); ++i) {
      const char c = text_[i];
      if (in_string) {
        if (c == '\\') ++i;
        in_string = c != '"';
      } else if (c == '/' && text_.substr(i, 2) == "//") {
        while (i < text_.size() && text_[i] != '\n') ++i;
      } else if (c == '"') {
        in_string = true;
        comma = std::string_view::npos;
      } else if (c == ',') {
        comma = i;
      } else if (!IsSpace(c)) {
        comma = std::string_view::npos;
      }
    }
    return comma;
  }

  std::string_view text_;
  Json document_;
  std::vector<Json*> open_;
  std::string key_;
  size_t values_ = 0;
  size_t error_at_ = std::string_view::npos;
  std::string error_;
};

// Counts lines as the parser goes, for errors the parser itself does not place.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  const char& operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

}  // namespace

Checked<Json> ParsePlanJson(std::string_view text, int first_line) {
  Builder builder(text);
  const char* furthest = text.data();
  const char* unused = nullptr;
  const bool parsed = Json::sax_parse(CountingIterator(text.data(), &furthest),
                                      CountingIterator(text.data() + text.size(), &unused),
                                      &builder, nlohmann::detail::input_format_t::json,
                                      /*strict=*/true, /*ignore_comments=*/true);
  if (parsed) return builder.document();
  size_t offset = static_cast<size_t>(furthest - text.data());
  if (builder.error_at() != std::string_view::npos) offset = builder.error_at();
  return Blame(Verdict::kBadCandidate, "plan, line " +
                                           std::to_string(first_line + LineOf(text, offset) - 1) +
                                           ": " + builder.error());
}

}  // namespace cudaagent::candidate

#include "llm/chat_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "util/text.h"

namespace cudaagent::llm {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& object, const char* key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  // Content in parts: [{"type": "text", "text": "..."}].
  std::string text;
  if (found->is_array()) {
    for (const Json& part : *found) {
      if (part.is_object() && part.contains("text") && part["text"].is_string()) {
        text += part["text"].get<std::string>();
      }
    }
  }
  return text;
}

int64_t Count(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object.at(key).is_number()) return 0;
  const double value = object.at(key).get<double>();
  return value >= 0 && value < 1e15 ? static_cast<int64_t>(value) : 0;
}

std::string Scalar(const Json& object, const char* key) {
  if (!object.contains(key)) return "";
  const Json& value = object.at(key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : "";
}

void AddUsage(const Json& json, Usage* usage) {
  if (!json.contains("usage") || !json["usage"].is_object()) return;
  const Json& told = json["usage"];
  usage->prompt_tokens = Count(told, "prompt_tokens");
  usage->completion_tokens = Count(told, "completion_tokens");
  if (told.contains("prompt_tokens_details")) {
    usage->cached_tokens = Count(told["prompt_tokens_details"], "cached_tokens");
  }
  if (told.contains("completion_tokens_details")) {
    usage->reasoning_tokens = Count(told["completion_tokens_details"], "reasoning_tokens");
  }
}

// A whole answer has a "message" in its first choice, a chunk of a stream a "delta"; the last chunk
// may have no choices at all.
bool Add(const Json& json, const char* part, ChatReply* reply) {
  if (!json.is_object() || !json.contains("choices") || !json["choices"].is_array()) return false;
  AddUsage(json, reply);
  if (reply->request_id.empty()) reply->request_id = Text(json, "id");
  for (const Json& choice : json["choices"]) {
    if (!choice.is_object() || Count(choice, "index") != 0) continue;
    if (std::string reason = Text(choice, "finish_reason"); !reason.empty()) {
      reply->finish_reason = std::move(reason);
    }
    if (!choice.contains(part) || !choice[part].is_object()) continue;
    const Json& message = choice[part];
    reply->content += Text(message, "content");
    reply->refusal += Text(message, "refusal");
    for (const char* key : {"reasoning_content", "reasoning", "reasoning_details"}) {
      const std::string reasoning = Text(message, key);
      reply->reasoning += reasoning;
      if (!reasoning.empty()) break;  // some servers say the same under two names
    }
  }
  return true;
}

bool HasMessage(const Json& json) {
  const Json& choices = json["choices"];
  return !choices.empty() && choices[0].is_object() && choices[0].contains("message") &&
         choices[0]["message"].is_object();
}

bool MeansExhausted(const ApiError& error, const Json& body) {
  static constexpr std::string_view kCodes[] = {"insufficient_quota", "billing_hard_limit_reached",
                                                "enforced_spend_limit_reached"};
  const std::string detail = body.contains("details") ? Text(body["details"], "error_code") : "";
  return std::any_of(std::begin(kCodes), std::end(kCodes), [&](std::string_view code) {
    return error.code == code || detail == code || Text(body, "type") == code;
  });
}

}  // namespace

std::string_view ToString(LimitField field) {
  switch (field) {
    case LimitField::kMaxCompletionTokens:
      return "max_completion_tokens";
    case LimitField::kMaxTokens:
      return "max_tokens";
    default:
      return "";
  }
}

std::string RequestBody(const std::string& model, const std::vector<ChatMessage>& messages,
                        int64_t max_output_tokens, double temperature, const Dialect& dialect) {
  Json body = {{"model", model}, {"messages", Json::array()}};
  for (const ChatMessage& message : messages) {
    body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  if (max_output_tokens > 0 && dialect.limit != LimitField::kNone) {
    body[std::string(ToString(dialect.limit))] = max_output_tokens;
  }
  if (temperature >= 0 && dialect.temperature) body["temperature"] = temperature;
  if (dialect.stream) body["stream"] = true;
  if (dialect.stream && dialect.stream_options) body["stream_options"] = {{"include_usage", true}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ApiError> ParseApiError(std::string_view body) {
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_array() && !json.empty()) json = Json(json[0]);
  if (!json.is_object()) return std::nullopt;
  if (!json.contains("error") || json["error"].is_null()) {
    // FastAPI and its like; vLLM's older ones, {"object": "error", "message": ...}.
    const bool whole = Text(json, "object") == "error" || Text(json, "type") == "error";
    const std::string text = Text(json, whole ? "message" : "detail");
    if (text.empty()) return std::nullopt;
    ApiError error;
    error.message = text;
    if (whole) error.status = Count(json, "code");
    return error;
  }
  ApiError error;
  const Json& body_error = json["error"];
  if (body_error.is_string()) {
    error.message = body_error.get<std::string>();
    return error;
  }
  if (!body_error.is_object()) return std::nullopt;
  error.message = Text(body_error, "message");
  error.param = Scalar(body_error, "param");
  error.code = Scalar(body_error, "code");
  if (body_error.contains("code") && body_error["code"].is_number_integer()) {
    error.status = Count(body_error, "code");
  }
  if (error.code.empty()) error.code = Scalar(body_error, "type");
  error.exhausted = MeansExhausted(error, body_error);
  return error;
}

void SplitReasoning(std::string* content, std::string* reasoning) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  std::string kept;
  size_t at = 0;
  bool moved = false;
  for (;;) {
    const size_t open = content->find(kOpen, at);
    const size_t close = content->find(kClose, at);
    if (open == std::string::npos && close == std::string::npos) break;
    moved = true;
    const bool opened = open < close;
    if (opened) kept += content->substr(at, open - at);
    const size_t begin = opened ? open + kOpen.size() : at;
    const size_t end = opened ? content->find(kClose, begin) : close;
    *reasoning += content->substr(begin, end == std::string::npos ? end : end - begin);
    at = end == std::string::npos ? content->size() : end + kClose.size();
  }
  if (!moved) return;
  kept += content->substr(at);
  *content = util::Trim(kept);
}

void Settle(ChatReply* reply) {
  SplitReasoning(&reply->content, &reply->reasoning);
  if (!reply->refusal.empty()) {
    reply->finish_reason = "refusal";
    if (reply->content.empty()) reply->content = reply->refusal;
  }
  if (reply->finish_reason == "max_tokens") reply->finish_reason = "length";
  // Stored and shown: a server's own words are not.
  constexpr std::array<std::string_view, 6> kKnown = {
      "", "stop", "length", "content_filter", "refusal", "tool_calls"};
  if (std::find(kKnown.begin(), kKnown.end(), reply->finish_reason) == kKnown.end()) {
    reply->finish_reason = "other";
  }
}

std::optional<ChatReply> ParseReply(std::string_view body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  ChatReply reply;
  if (!Add(json, "message", &reply) || !HasMessage(json)) return std::nullopt;
  Settle(&reply);
  return reply;
}

bool AddChunk(std::string_view data, ChatReply* reply) {
  return Add(Json::parse(data, nullptr, /*allow_exceptions=*/false), "delta", reply);
}

}  // namespace cudaagent::llm

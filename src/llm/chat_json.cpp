#include "llm/chat_json.h"

#include <algorithm>
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
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ApiError> ParseApiError(std::string_view body) {
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_array() && !json.empty()) json = Json(json[0]);
  if (!json.is_object()) return std::nullopt;
  if (!json.contains("error") || json["error"].is_null()) {
    // FastAPI and its like.
    const std::string text = !Text(json, "detail").empty() ? Text(json, "detail") : "";
    if (text.empty()) return std::nullopt;
    ApiError error;
    error.message = text;
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

std::optional<ChatReply> ParseReply(std::string_view body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("choices") || !json["choices"].is_array() ||
      json["choices"].empty() || !json["choices"][0].is_object()) {
    return std::nullopt;
  }
  const Json& choice = json["choices"][0];
  if (!choice.contains("message") || !choice["message"].is_object()) return std::nullopt;
  const Json& message = choice["message"];
  ChatReply reply;
  reply.content = Text(message, "content");
  for (const char* key : {"reasoning_content", "reasoning", "reasoning_details"}) {
    if (reply.reasoning.empty()) reply.reasoning = Text(message, key);
  }
  SplitReasoning(&reply.content, &reply.reasoning);
  reply.finish_reason = Text(choice, "finish_reason");
  if (std::string refusal = Text(message, "refusal"); !refusal.empty()) {
    reply.finish_reason = "refusal";
    if (reply.content.empty()) reply.content = std::move(refusal);
  }
  if (json.contains("usage")) {
    reply.prompt_tokens = Count(json["usage"], "prompt_tokens");
    reply.completion_tokens = Count(json["usage"], "completion_tokens");
  }
  reply.request_id = Text(json, "id");
  return reply;
}

}  // namespace cudaagent::llm

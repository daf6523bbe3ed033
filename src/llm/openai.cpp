#include "llm/openai.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>
#include <variant>

#include "llm/answer_reader.h"
#include "llm/chat_json.h"
#include "llm/endpoint.h"
#include "llm/http.h"
#include "llm/retry.h"
#include "util/log.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::llm {
namespace {

// Why a try gave no answer.
struct Trouble {
  std::string what;
  bool retry = false;
  std::optional<double> wait_s;
  bool downgraded = false;  // the same request is worth sending in another dialect
};

// `word` stands in `text` as a word of its own: "stream" is not in "stream_options".
bool Mentions(std::string_view text, std::string_view word) {
  const auto inner = [](char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !inner(text[at - 1])) && (end == text.size() || !inner(text[end]))) return true;
  }
  return false;
}

class OpenAiClient : public LlmClient {
 public:
  OpenAiClient(LlmConfig config, Endpoint endpoint, Secret key)
      : config_(std::move(config)),
        endpoint_(std::move(endpoint)),
        key_(std::move(key)),
        breaker_(config_.retry),
        random_(std::random_device()()) {}

  std::string name() const override {
    return (endpoint_.is_default ? "openai" : endpoint_.host) + "/" + config_.model;
  }

  Result<ChatReply> Chat(const std::vector<ChatMessage>& messages,
                         int64_t max_output_tokens) override {
    const int64_t limit = max_output_tokens > 0 ? max_output_tokens : config_.max_output_tokens;
    for (;;) {
      if (Stopped()) return Fail(ErrorCode::kCancelled, "Stopped while asking the LLM.");
      auto outcome = Try(messages, limit);
      if (auto* reply = std::get_if<ChatReply>(&outcome)) {
        breaker_.Succeeded();
        return std::move(*reply);
      }
      const Trouble& trouble = std::get<Trouble>(outcome);
      if (trouble.downgraded || Stopped()) continue;
      if (!trouble.retry) return Failed(trouble.what);
      std::string why;
      const auto wait = breaker_.Failed(trouble.wait_s, Uniform(), &why);
      if (!wait) return Failed(trouble.what + " " + why);
      util::LogWarn(Clean(trouble.what) + " Asking again in " + util::FormatSeconds(*wait) + ".");
      Sleep(*wait);
    }
  }

 private:
  std::variant<ChatReply, Trouble> Try(const std::vector<ChatMessage>& messages, int64_t limit) {
    AnswerReader reader(config_.max_answer_bytes);
    HttpRequest request;
    request.url = endpoint_.url;
    request.body = RequestBody(config_.model, messages, limit, config_.temperature, dialect_);
    request.bearer = &key_;
    request.direct = endpoint_.loopback;
    request.connect_timeout_s = config_.connect_timeout_s;
    request.idle_timeout_s = config_.idle_timeout_s;
    request.total_timeout_s = config_.total_timeout_s;
    request.on_bytes = [&reader](std::string_view bytes) { return reader.Feed(bytes); };
    request.stop_requested = config_.stop_requested;
    const HttpReply http = Post(request);
    if (http.status != 0 && http.status != 200)
      return Diagnose(http, ParseApiError(http.body), limit);
    // A whole answer counts, however the connection ended after it.
    reader.Finish();
    if (reader.reply) {
      if (auto id = http.headers.find("x-request-id"); id != http.headers.end()) {
        reader.reply->request_id = Clean(id->second);
      }
      reader.reply->content = key_.Without(reader.reply->content);
      reader.reply->reasoning = key_.Without(reader.reply->reasoning);
      return std::move(*reader.reply);
    }
    if (reader.error) return Diagnose(http, reader.error, limit);
    Trouble trouble;
    if (http.end == HttpEnd::kFailed) {
      trouble.what = "The LLM at " + endpoint_.host +
                     (http.status == 0 ? " did not answer: " : " broke off its answer: ") +
                     http.failure + ".";
      trouble.retry = http.transient;
    } else {
      trouble.what = "The LLM at " + endpoint_.host + " " + reader.failure + ".";
      trouble.retry = reader.transient;
    }
    return trouble;
  }

  // An answer that is an error: by its status, or by what it says under status 200.
  Trouble Diagnose(const HttpReply& http, const std::optional<ApiError>& error, int64_t limit) {
    long status = http.status;
    // Some relay their provider's error under status 200.
    if (status == 200)
      status = error && error->status >= 400 ? static_cast<long>(error->status) : 502;
    Trouble trouble;
    trouble.what = "The LLM at " + endpoint_.host + " answered " + std::to_string(http.status);
    if (error && !error->code.empty()) trouble.what += " (" + error->code + ")";
    if (auto id = http.headers.find("x-request-id"); id != http.headers.end()) {
      trouble.what += ", request " + id->second;
    }
    if (error && !error->message.empty()) trouble.what += ": " + error->message;
    if (!trouble.what.ends_with('.')) trouble.what += ".";
    if (status >= 300 && status < 400) {
      trouble.what +=
          " It redirects, and a key is never sent along; set the base URL to where it "
          "points.";
    } else if (status == 401 || status == 403) {
      trouble.what +=
          " Check " +
          (config_.api_key_env.empty() ? std::string(kDefaultKeyEnv) : config_.api_key_env) +
          (key_.empty() ? ": no key was sent." : ".");
    } else if (status == 404) {
      trouble.what += " Check the model's name and the base URL.";
    } else if ((status == 400 || status == 422) && error) {
      trouble.downgraded = Downgrade(*error, limit);
    }
    trouble.retry = IsRetryable(status, http.headers) && !(error && error->exhausted);
    trouble.wait_s = RequestedWait(http.headers, std::time(nullptr));
    return trouble;
  }

  // Drops or renames the parameter that the error names, for this and every later request; true
  // where a request would now differ.
  bool Downgrade(const ApiError& error, int64_t limit) {
    const auto names = [&error](std::string_view parameter) {
      return error.param == parameter ||
             (error.param.empty() && Mentions(error.message, parameter));
    };
    if (dialect_.stream && dialect_.stream_options &&
        (names("stream_options") || names("stream_options.include_usage"))) {
      dialect_.stream_options = false;
    } else if (dialect_.stream && names("stream")) {
      dialect_.stream = false;
    } else if (dialect_.limit != LimitField::kNone && limit > 0 &&
               (names("max_completion_tokens") || names("max_tokens"))) {
      // Servers word it either way, whichever of the two was sent.
      dialect_.limit = dialect_.limit == LimitField::kMaxCompletionTokens ? LimitField::kMaxTokens
                                                                          : LimitField::kNone;
    } else if (dialect_.temperature && config_.temperature >= 0 && names("temperature")) {
      dialect_.temperature = false;
    } else {
      return false;
    }
    return true;
  }

  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool Stopped() const { return config_.stop_requested && config_.stop_requested(); }
  void Sleep(double seconds) const {
    const auto deadline = util::Deadline::After(seconds);
    while (!deadline.Passed() && !Stopped()) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::min(0.1, deadline.RemainingSeconds())));
    }
  }
  // Others' words: no key, no control characters, not endless.
  std::string Clean(const std::string& text) const {
    return util::SanitiseLog(key_.Redact(text), 2000);
  }
  tl::unexpected<Error> Failed(const std::string& what) const {
    return Fail(ErrorCode::kLlm, Clean(what));
  }

  const LlmConfig config_;
  const Endpoint endpoint_;
  const Secret key_;
  Breaker breaker_;
  std::mt19937 random_;
  Dialect dialect_;
};

}  // namespace

Result<std::unique_ptr<LlmClient>> MakeOpenAiClient(LlmConfig config) {
  const bool named = !config.api_key_env.empty();
  const std::string variable = named ? config.api_key_env : kDefaultKeyEnv;
  // Whatever happens next, it is out of the environment.
  std::optional<Secret> key = TakeFromEnvironment(variable);
  if (config.model.empty()) {
    return Fail(ErrorCode::kUsage, "No model is named. Give one with --model.");
  }
  auto endpoint = ParseEndpoint(config.base_url);
  if (!endpoint) return tl::unexpected(endpoint.error());
  if (!key || key->empty()) {
    if (named || endpoint->is_default) {
      return Fail(ErrorCode::kUsage, "The environment variable " + variable +
                                         ", which holds the LLM's key, is not set. Export it, or "
                                         "name another with --api-key-env.");
    }
    key.emplace();
  }
  for (char c : key->Reveal()) {
    if (static_cast<unsigned char>(c) < 0x21 || c == 0x7F) {
      return Fail(ErrorCode::kUsage, "The key in " + variable +
                                         " holds a space, a newline or a control character. Set it "
                                         "again without.");
    }
  }
  if (!named && !endpoint->is_default && !endpoint->loopback) key.emplace();
  if (!key->empty() && !endpoint->encrypted && !endpoint->loopback) {
    util::LogWarn("The key in " + variable + " goes to " + endpoint->host +
                  " unencrypted; use https if it can.");
  }
  return std::make_unique<OpenAiClient>(std::move(config), std::move(*endpoint), std::move(*key));
}

}  // namespace cudaagent::llm

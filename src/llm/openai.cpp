#include "llm/openai.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <variant>

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

class OpenAiClient : public LlmClient {
 public:
  OpenAiClient(LlmConfig config, Endpoint endpoint, Secret key)
      : config_(std::move(config)),
        endpoint_(std::move(endpoint)),
        key_(std::move(key)),
        random_(std::random_device()()) {}

  std::string name() const override {
    return (endpoint_.is_default ? "openai" : endpoint_.host) + "/" + config_.model;
  }

  Result<ChatReply> Chat(const std::vector<ChatMessage>& messages) override {
    for (int tries = 0;;) {
      if (Stopped()) return Fail(ErrorCode::kCancelled, "Stopped while asking the LLM.");
      auto outcome = Try(messages);
      if (auto* reply = std::get_if<ChatReply>(&outcome)) return std::move(*reply);
      const Trouble& trouble = std::get<Trouble>(outcome);
      if (trouble.downgraded) continue;
      if (!trouble.retry) return Failed(trouble.what);
      if (trouble.wait_s && *trouble.wait_s > config_.retry_after_cap_s) {
        return Failed(trouble.what + " It asks to wait " + util::FormatSeconds(*trouble.wait_s) +
                      ", longer than the " + util::FormatSeconds(config_.retry_after_cap_s) +
                      " that are waited for.");
      }
      if (tries == config_.max_retries) {
        return Failed(trouble.what + " Gave up after " + std::to_string(tries + 1) + " tries.");
      }
      const double wait = trouble.wait_s ? *trouble.wait_s
                                         : BackoffSeconds(tries, config_.retry_base_s,
                                                          config_.retry_cap_s, Uniform());
      ++tries;
      util::LogInfo(Clean(trouble.what) + " Asking again in " + util::FormatSeconds(wait) + ".");
      Sleep(wait);
    }
  }

 private:
  std::variant<ChatReply, Trouble> Try(const std::vector<ChatMessage>& messages) {
    const Dialect dialect = CurrentDialect();
    HttpRequest request;
    request.url = endpoint_.url;
    request.body = RequestBody(config_.model, messages, config_.max_output_tokens,
                               config_.temperature, dialect);
    request.bearer = &key_;
    request.direct = endpoint_.loopback;
    request.timeout_s = config_.timeout_s;
    request.connect_timeout_s = config_.connect_timeout_s;
    request.max_body_bytes = config_.max_body_bytes;
    const HttpReply reply = Post(request);
    if (reply.status == 0) {
      return Trouble{"The LLM at " + endpoint_.host + " did not answer: " + reply.failure + ".",
                     reply.transient, std::nullopt, false};
    }
    if (reply.status == 200) {
      if (auto parsed = ParseReply(reply.body)) {
        if (auto id = reply.headers.find("x-request-id"); id != reply.headers.end()) {
          parsed->request_id = Clean(id->second);
        }
        return std::move(*parsed);
      }
    }
    return Diagnose(reply, dialect);
  }

  Trouble Diagnose(const HttpReply& reply, const Dialect& dialect) {
    const auto error = ParseApiError(reply.body);
    long status = reply.status;
    // Some relay their provider's error under status 200.
    if (status == 200)
      status = error && error->status >= 400 ? static_cast<long>(error->status) : 502;
    Trouble trouble;
    trouble.what = "The LLM at " + endpoint_.host + " answered " + std::to_string(reply.status);
    if (error && !error->code.empty()) trouble.what += " (" + error->code + ")";
    if (auto id = reply.headers.find("x-request-id"); id != reply.headers.end()) {
      trouble.what += ", request " + id->second;
    }
    trouble.what += error && !error->message.empty() ? ": " + error->message
                    : reply.status == 200            ? ", but with no answer in it"
                                                     : "";
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
      trouble.downgraded = Downgrade(*error, dialect);
    }
    trouble.retry = IsRetryable(status, reply.headers) && !(error && error->exhausted);
    trouble.wait_s = RequestedWait(reply.headers, std::time(nullptr));
    return trouble;
  }

  // Drops or renames the parameter that the error names; true where a request would now differ.
  bool Downgrade(const ApiError& error, const Dialect& sent) {
    auto names = [&](std::string_view parameter) {
      return error.param == parameter ||
             (error.param.empty() && error.message.find(parameter) != std::string::npos);
    };
    Dialect next = sent;
    if (sent.limit != LimitField::kNone && config_.max_output_tokens > 0 &&
        names(ToString(sent.limit))) {
      next.limit = sent.limit == LimitField::kMaxCompletionTokens ? LimitField::kMaxTokens
                                                                  : LimitField::kNone;
    } else if (sent.temperature && config_.temperature >= 0 && names("temperature")) {
      next.temperature = false;
    } else {
      return false;
    }
    std::lock_guard lock(mutex_);
    dialect_ = next;
    return true;
  }

  Dialect CurrentDialect() {
    std::lock_guard lock(mutex_);
    return dialect_;
  }
  double Uniform() {
    std::lock_guard lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_);
  }
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
  std::mutex mutex_;
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

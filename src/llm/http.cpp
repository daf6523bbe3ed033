#include "llm/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "util/text.h"
#include "util/time.h"

namespace cudaagent::llm {
namespace {

constexpr size_t kMaxHeaders = 200;
constexpr size_t kMaxErrorBytes = size_t{1} << 20;
constexpr int kPollMillis = 100;

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

// What libcurl's callbacks write to.
struct Sink {
  const HttpRequest* request = nullptr;
  HttpReply* reply = nullptr;
  CURL* easy = nullptr;
  bool hung_up = false;
  curl_off_t moved = 0;  // bytes in both directions
  util::Stopwatch idle;  // since the last of them

  void SawBytes() { idle = util::Stopwatch(); }
};

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto* sink = static_cast<Sink*>(user);
  const std::string_view bytes(data, size * count);
  curl_easy_getinfo(sink->easy, CURLINFO_RESPONSE_CODE, &sink->reply->status);
  if (sink->reply->status == 200) {
    sink->hung_up = !sink->request->on_bytes(bytes);
    return sink->hung_up ? 0 : bytes.size();
  }
  std::string& body = sink->reply->body;
  body += bytes.substr(0, kMaxErrorBytes - std::min(body.size(), kMaxErrorBytes));
  sink->hung_up = body.size() >= kMaxErrorBytes;
  return sink->hung_up ? 0 : bytes.size();
}

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto* sink = static_cast<Sink*>(user);
  sink->SawBytes();
  auto& headers = sink->reply->headers;
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) headers.clear();  // of a 100 Continue before the answer
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos && headers.size() < kMaxHeaders) {
    headers[util::ToLower(line.substr(0, colon))] = std::string(util::Trim(line.substr(colon + 1)));
  }
  return size * count;
}

int OnProgress(void* user, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up) {
  auto* sink = static_cast<Sink*>(user);
  if (down + up != sink->moved) sink->SawBytes();
  sink->moved = down + up;
  return 0;
}

bool IsTransient(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

void Append(HeaderList* list, const std::string& line) {
  curl_slist* grown = curl_slist_append(list->get(), line.c_str());
  if (grown == nullptr) return;
  (void)list->release();
  list->reset(grown);
}

void Configure(const HttpRequest& request, curl_slist* headers, char* error, Sink* sink) {
  CURL* easy = sink->easy;
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_timeout_s * 1000));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_timeout_s * 1000));
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "cudaagent");
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, sink);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, sink);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, sink);
  if (request.direct) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (const char* roots = std::getenv("SSL_CERT_FILE"); roots != nullptr && *roots != 0) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, roots);
  }
}

// Until the transfer ends, is silent for too long, or is to stop. CURLE_OK in the last two cases.
CURLcode Transfer(CURLM* multi, const HttpRequest& request, const Sink& sink) {
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    if (request.stop_requested && request.stop_requested()) {
      sink.reply->end = HttpEnd::kStopped;
      return CURLE_OK;
    }
    if (sink.idle.Seconds() > request.idle_timeout_s) {
      sink.reply->failure = "no byte came for " + util::FormatSeconds(request.idle_timeout_s);
      sink.reply->transient = true;
      return CURLE_OK;
    }
    curl_multi_poll(multi, nullptr, 0, kPollMillis, nullptr);
  }
}

}  // namespace

HttpReply Post(const HttpRequest& request) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  HttpReply reply;
  HeaderList headers;
  Easy easy(curl_easy_init());
  Multi multi(curl_multi_init());
  if (!easy || !multi) {
    reply.failure = "libcurl did not start";
    return reply;
  }
  Append(&headers, "Content-Type: application/json");
  Append(&headers, "Accept: application/json, text/event-stream");
  Append(&headers, "Expect:");
  if (request.bearer != nullptr && !request.bearer->empty()) {
    Append(&headers, "Authorization: Bearer " + request.bearer->Reveal());
  }
  Sink sink;
  sink.request = &request;
  sink.reply = &reply;
  sink.easy = easy.get();
  char error[CURL_ERROR_SIZE] = "";
  Configure(request, headers.get(), error, &sink);
  curl_multi_add_handle(multi.get(), easy.get());
  reply.end = HttpEnd::kWhole;
  const CURLcode code = Transfer(multi.get(), request, sink);
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  curl_multi_remove_handle(multi.get(), easy.get());
  if (sink.hung_up) {
    reply.end = HttpEnd::kHungUp;
  } else if (code != CURLE_OK) {
    reply.failure = error[0] != 0 ? error : curl_easy_strerror(code);
    reply.transient = IsTransient(code);
  }
  if (!reply.failure.empty()) reply.end = HttpEnd::kFailed;
  return reply;
}

}  // namespace cudaagent::llm

#include "llm/http.h"

#include <curl/curl.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "util/text.h"

namespace cudaagent::llm {
namespace {

constexpr size_t kMaxHeaders = 200;

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

struct Sink {
  HttpReply* reply = nullptr;
  size_t max_body_bytes = 0;
  bool overflowed = false;
};

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto* sink = static_cast<Sink*>(user);
  const size_t bytes = size * count;
  if (sink->reply->body.size() + bytes > sink->max_body_bytes) {
    sink->overflowed = true;
    return 0;
  }
  sink->reply->body.append(data, bytes);
  return bytes;
}

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& headers = static_cast<Sink*>(user)->reply->headers;
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) headers.clear();  // of a 100 Continue before the answer
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos && headers.size() < kMaxHeaders) {
    headers[util::ToLower(line.substr(0, colon))] = std::string(util::Trim(line.substr(colon + 1)));
  }
  return size * count;
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

}  // namespace

HttpReply Post(const HttpRequest& request) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  HttpReply reply;
  std::unique_ptr<CURL, EasyDeleter> easy(curl_easy_init());
  if (!easy) {
    reply.failure = "libcurl did not start";
    return reply;
  }
  HeaderList headers;
  Append(&headers, "Content-Type: application/json");
  Append(&headers, "Accept: application/json");
  Append(&headers, "Expect:");
  if (request.bearer != nullptr && !request.bearer->empty()) {
    Append(&headers, "Authorization: Bearer " + request.bearer->Reveal());
  }
  Sink sink{&reply, request.max_body_bytes, false};
  char error[CURL_ERROR_SIZE] = "";
  CURL* handle = easy.get();
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout_s * 1000));
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_timeout_s * 1000));
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "cudaagent");
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &sink);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &sink);
  if (request.direct) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  if (const char* roots = std::getenv("SSL_CERT_FILE"); roots != nullptr && *roots != 0) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, roots);
  }
  const CURLcode code = curl_easy_perform(handle);
  if (code == CURLE_OK) {
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
    return reply;
  }
  if (sink.overflowed) {
    reply.failure = "its answer is larger than " + util::FormatBytes(request.max_body_bytes);
  } else {
    reply.failure = error[0] != 0 ? error : curl_easy_strerror(code);
    reply.transient = IsTransient(code);
  }
  return reply;
}

}  // namespace cudaagent::llm

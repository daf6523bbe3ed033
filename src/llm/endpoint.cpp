#include "llm/endpoint.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <memory>

namespace cudaagent::llm {
namespace {

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string Part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK || text == nullptr) return "";
  std::string value = text;
  curl_free(text);
  return value;
}

bool IsLoopback(std::string host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

Result<Endpoint> ParseEndpoint(const std::string& base_url) {
  auto bad = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, "The LLM's base URL " + what +
                                       ". Give one like http://localhost:8000/v1 or "
                                       "https://api.openai.com/v1.");
  };
  std::unique_ptr<CURLU, UrlDeleter> url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, base_url.c_str(), 0) != CURLUE_OK) {
    return bad("\"" + base_url.substr(0, 200) + "\" is not a URL");
  }
  // Not echoed: it holds a password.
  if (!Part(url.get(), CURLUPART_USER).empty() || !Part(url.get(), CURLUPART_PASSWORD).empty()) {
    return bad("holds a user name; keys come from the environment (--api-key-env)");
  }
  const std::string scheme = Part(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return bad("is neither http nor https");
  if (!Part(url.get(), CURLUPART_QUERY).empty() || !Part(url.get(), CURLUPART_FRAGMENT).empty()) {
    return bad("holds a query or fragment");
  }
  Endpoint endpoint;
  const std::string name = Part(url.get(), CURLUPART_HOST);
  const std::string port = Part(url.get(), CURLUPART_PORT);
  endpoint.host = name + (port.empty() ? "" : ":" + port);
  endpoint.loopback = IsLoopback(name);
  endpoint.encrypted = scheme == "https";
  endpoint.is_default =
      endpoint.encrypted && name == "api.openai.com" && (port.empty() || port == "443");
  std::string path = Part(url.get(), CURLUPART_PATH);
  while (path.ends_with('/')) path.pop_back();
  if (path.ends_with("/chat/completions")) {
    return bad("already ends in /chat/completions, which is added to it");
  }
  endpoint.url = scheme + "://" + endpoint.host + path + "/chat/completions";
  return endpoint;
}

}  // namespace cudaagent::llm

// A language model behind HTTP that says what a test tells it to
// (tests/programs/scripted_llm_server.py).
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cudaagent::fakes {

class ScriptedLlm {
 public:
  // A list of responses, or a single one.
  explicit ScriptedLlm(nlohmann::json script) {
    if (!script.is_array()) script = nlohmann::json::array({script});
    char folder[] = "/tmp/scripted_llm_XXXXXX";
    if (mkdtemp(folder) == nullptr) return;
    folder_ = folder;
    std::ofstream(folder_ + "/script.json") << script.dump();
    const std::string command =
        "exec python3 '" CUDAAGENT_SOURCE_DIR "/tests/programs/scripted_llm_server.py' " + folder_ +
        "/script.json " + folder_ + "/log.jsonl " + folder_ + "/port";
    server_ = popen(command.c_str(), "w");
    for (int tries = 0; tries < 1500 && port_ == 0; ++tries) {
      usleep(20000);
      std::ifstream(folder_ + "/port") >> port_;
    }
    EXPECT_NE(port_, 0) << "the scripted server did not start";
  }
  ~ScriptedLlm() {
    if (server_ != nullptr) pclose(server_);
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  ScriptedLlm(const ScriptedLlm&) = delete;
  ScriptedLlm& operator=(const ScriptedLlm&) = delete;

  std::string base_url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(port_) + "/v1";
  }

  // {"path", "headers", "body"} of every request so far.
  std::vector<nlohmann::json> requests() const {
    std::vector<nlohmann::json> all;
    std::ifstream log(folder_ + "/log.jsonl");
    for (std::string line; std::getline(log, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  // A whole answer with this content.
  static nlohmann::json Answer(const nlohmann::json& content, const std::string& finish = "stop") {
    return {{"body",
             {{"id", "chat-1"},
              {"choices",
               {{{"index", 0},
                 {"message", {{"role", "assistant"}, {"content", content}}},
                 {"finish_reason", finish}}}},
              {"usage", {{"prompt_tokens", 11}, {"completion_tokens", 7}}}}}};
  }

  // One event of a stream.
  static std::string Event(const nlohmann::json& data) { return "data: " + data.dump() + "\n\n"; }

  // The same answer in chunks of a few characters, as servers stream it. `usage` comes last.
  static nlohmann::json Streamed(const std::string& content, const std::string& finish = "stop",
                                 const nlohmann::json& usage = {{"prompt_tokens", 11},
                                                                {"completion_tokens", 7}}) {
    const auto chunk = [](const nlohmann::json& delta, const nlohmann::json& reason) {
      return Event({{"id", "chat-1"},
                    {"object", "chat.completion.chunk"},
                    {"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", reason}}}},
                    {"usage", nullptr}});
    };
    nlohmann::json pieces = {chunk({{"role", "assistant"}, {"content", ""}}, nullptr)};
    const size_t step = std::max<size_t>(1, content.size() / 50);
    for (size_t at = 0; at < content.size(); at += step) {
      pieces.push_back(chunk({{"content", content.substr(at, step)}}, nullptr));
    }
    pieces.push_back(chunk(nlohmann::json::object(), finish));
    pieces.push_back(
        Event({{"id", "chat-1"}, {"choices", nlohmann::json::array()}, {"usage", usage}}));
    pieces.push_back("data: [DONE]\n\n");
    return {{"stream", pieces}};
  }

  // A streamed answer without its last pieces, its end among them.
  static nlohmann::json CutShort(nlohmann::json streamed) {
    auto& pieces = streamed["stream"];
    for (int i = 0; i < 5 && pieces.size() > 1; ++i) pieces.erase(pieces.size() - 1);
    return streamed;
  }

 private:
  std::string folder_;
  FILE* server_ = nullptr;
  int port_ = 0;
};

}  // namespace cudaagent::fakes

#include "util/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "util/text.h"

namespace cudaagent::util {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "cudaagent", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("[%^%l%$] %v");
    made->set_level(spdlog::level::warn);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

void Write(spdlog::level::level_enum level, std::string_view text) {
  Logger().log(level, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace

Result<void> SetLogLevel(std::string_view level) {
  static const std::vector<std::string> kLevels = {"debug", "info", "warn", "error", "off"};
  if (std::find(kLevels.begin(), kLevels.end(), level) == kLevels.end()) {
    return Fail(ErrorCode::kUsage, "\"" + std::string(level) + "\" is no log level; there are " +
                                       Join(kLevels, ", ") + ".");
  }
  Logger().set_level(spdlog::level::from_str(std::string(level)));
  return {};
}

void LogDebug(std::string_view text) { Write(spdlog::level::debug, text); }
void LogInfo(std::string_view text) { Write(spdlog::level::info, text); }
void LogWarn(std::string_view text) { Write(spdlog::level::warn, text); }
void LogError(std::string_view text) { Write(spdlog::level::err, text); }

}  // namespace cudaagent::util

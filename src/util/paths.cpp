#include "util/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cudaagent/result.h"

namespace cudaagent::util {
namespace {

std::string Home() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return home;
  const passwd* entry = ::getpwuid(::getuid());
  if (entry != nullptr && entry->pw_dir != nullptr && *entry->pw_dir == '/') return entry->pw_dir;
  return "/tmp";
}

std::string Xdg(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  const std::string base = value != nullptr && *value == '/' ? value : Home() + "/" + fallback;
  return base + "/cudaagent";
}

}  // namespace

std::string CacheDir() {
  const char* chosen = std::getenv("CUDAAGENT_CACHE_DIR");
  return chosen != nullptr && *chosen == '/' ? chosen : Xdg("XDG_CACHE_HOME", ".cache");
}
std::string ConfigDir() { return Xdg("XDG_CONFIG_HOME", ".config"); }
std::string StateDir() { return Xdg("XDG_STATE_HOME", ".local/state"); }

std::string ProgramDir() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw FatalError("Cannot read /proc/self/exe: " + error.message() + ".");
  return program.parent_path().string();
}

std::string LockDir() { return "/tmp/cudaagent-" + std::to_string(::getuid()); }

}  // namespace cudaagent::util

#include "bench/process_tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

namespace cudaagent::bench {
namespace {

namespace fs = std::filesystem;

// pid -> its parent's, of every process there is.
std::map<pid_t, pid_t> Parents() {
  std::map<pid_t, pid_t> parents;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    // "PID (name) STATE PPID ...": the name may hold anything, also brackets.
    const size_t bracket = text.rfind(')');
    if (bracket == std::string::npos || bracket + 4 >= text.size()) continue;
    parents[std::atoi(name.c_str())] = std::atoi(text.c_str() + bracket + 4);
  }
  return parents;
}

// The number after `key` in a file of "Key:   123 kB" lines, in bytes; 0 = not there.
int64_t Kilobytes(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) == 0) return std::atoll(line.c_str() + key.size()) * 1024;
  }
  return 0;
}

}  // namespace

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& [child, parent] : Parents()) {
    if (parent == pid) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> ProcessTree(pid_t pid) {
  const std::map<pid_t, pid_t> parents = Parents();
  std::vector<pid_t> tree = {pid};
  for (size_t i = 0; i < tree.size(); ++i) {
    for (const auto& [child, parent] : parents) {
      if (parent == tree[i]) tree.push_back(child);
    }
  }
  return tree;
}

int64_t MemoryOf(const std::vector<pid_t>& pids) {
  int64_t bytes = 0;
  for (pid_t pid : pids) bytes += Kilobytes("/proc/" + std::to_string(pid) + "/status", "RssAnon:");
  return bytes;
}

int64_t MachineMemory() {
  int64_t bytes = Kilobytes("/proc/meminfo", "MemTotal:");
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    int64_t limit = 0;
    if (file >> limit && limit > 0) bytes = bytes > 0 ? std::min(bytes, limit) : limit;
  }
  return bytes;
}

void GoFirstWhenMemoryEnds() {
  std::ofstream file("/proc/self/oom_score_adj");
  file << 500;  // may be forbidden; then the kernel chooses as it always does
}

}  // namespace cudaagent::bench

// What tests ask about processes.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace cudaagent::pool {

inline std::string BadChild() { return std::string(CUDAAGENT_BIN_DIR) + "/misbehaving_child"; }

// Neither running nor a zombie of ours.
inline bool Gone(pid_t pid, double seconds = 5) {
  for (int i = 0; i < seconds * 100; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || text.compare(name_end + 2, 1, "Z") == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// The children of this process, zombies included.
inline int Children() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  int count = 0;
  for (std::string pid; file >> pid;) ++count;
  return count;
}

}  // namespace cudaagent::pool

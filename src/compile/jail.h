// What a compile may touch. Candidate text attacks the compiler (#include "/etc/passwd", template
// bombs), so every compile runs in a forked child that first gives up everything it does not need.
//
// Files: Landlock where the kernel has it; else, for root, a mount namespace whose root is an empty
// file system with the readable folders bound into it; else none, which the log states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::compile {

enum class JailKind { kLandlock, kChroot, kNone };
const char* ToString(JailKind kind);

// The strongest kind this process can enter. Asks the kernel once per call; forks for the answer.
JailKind BestJail();

struct JailLimits {
  std::vector<std::string> readable;  // folders and files; those that do not exist are left out
  std::vector<std::string> writable;  // folders
  int64_t memory_bytes = 0;           // address space; 0 = no limit
  double cpu_seconds = 0;             // 0 = no limit
  int64_t file_bytes = 0;             // largest file it may write
};

// For the child, after fork(): no core dumps, no new privileges, the limits above, and only the
// named files. The caller has closed every descriptor it does not need. kEnvironment where a step
// fails: the child must not compile then. Irreversible.
Result<void> EnterJail(JailKind kind, const JailLimits& limits);

// For the parent, once: no network for it and its children where the kernel lets us. Landlock adds
// the same for a child whose parent could not.
void LeaveNetwork();

}  // namespace cudaagent::compile

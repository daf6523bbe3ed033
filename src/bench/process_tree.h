// What /proc tells of the processes below one, and of the memory there is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace cudaagent::bench {

std::vector<pid_t> ChildrenOf(pid_t pid);
// `pid` and all below it.
std::vector<pid_t> ProcessTree(pid_t pid);
// Bytes of memory that are the processes' own (anonymous, resident).
int64_t MemoryOf(const std::vector<pid_t>& pids);
// What this process and its children may use at most: the machine's memory or the control group's
// limit.
int64_t MachineMemory();
// Where memory ends, this process and its children are to be killed before others.
void GoFirstWhenMemoryEnds();

}  // namespace cudaagent::bench

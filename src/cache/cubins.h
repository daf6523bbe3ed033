// What lies in a folder of compiled candidates, and how it is taken away again while other programs
// use it. The layout is src/compile/cubin_cache.h's:
//
//   <dir>/entries/<2 digits>/<key>/{reply.json, kernel.cubin, kernel.ptx}
//   <dir>/tmp/<random>/   an entry being written, or one on its way out
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace cudaagent::cache {

struct Entry {
  std::string path;
  int64_t bytes = 0;
  std::time_t used = 0;  // last use, seconds since 1970
};

// In no order. A folder that does not exist holds nothing.
std::vector<Entry> CubinEntries(const std::string& dir);

// Bytes of everything below `folder`; what vanishes meanwhile counts as 0.
int64_t BytesBelow(const std::string& folder);

// Moves the entry out of sight in one step, so that no reader meets half of it, then deletes it.
void RemoveCubin(const std::string& entry, const std::string& dir);

// Deletes what a killed program left in <dir>/tmp more than an hour ago.
void RemoveAbandoned(const std::string& dir);

}  // namespace cudaagent::cache

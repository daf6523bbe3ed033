// Compiled candidates on disk, found by what went into them. Several programs may share one folder.
//
//   <dir>/entries/<2 digits>/<key>/{reply.json, kernel.cubin, kernel.ptx}
//   <dir>/tmp/<random>/   an entry being written, moved into place by one rename
//
// An entry never changes once it is there. reply.json begins with the hashes of all three; an entry
// that does not match them is taken away and counts as absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile_child.h"
#include "cudaagent/result.h"
#include "protocol/messages.h"

namespace cudaagent::compile {

class CubinCache {
 public:
  struct Options {
    std::string dir;
    int64_t max_bytes = 2LL << 30;
    // Entries used less than this long ago are never collected: a worker may be about to load them.
    std::chrono::seconds keep_recent{600};
  };

  // Makes the folders. kEnvironment where it cannot.
  static Result<CubinCache> Open(Options options);

  // SHA-256 over everything the result depends on: NVRTC's fingerprint, our headers, options
  // (architecture and include folders among them), source and kernel names.
  static std::string Key(const std::string& nvrtc_fingerprint,
                         const std::vector<std::string>& nvrtc_options, const std::string& source,
                         const std::vector<std::string>& kernels);

  // The reply as stored, with paths and `cached` set, and the entry marked as used.
  std::optional<protocol::CompileReply> Find(const std::string& key);

  // Stores a compile that succeeded and returns its reply with paths set. Where another program was
  // faster, its entry is the answer. kEnvironment where the disk refuses; nothing is left behind.
  Result<protocol::CompileReply> Store(const std::string& key, const Compiled& compiled);

  // Removes what was used longest ago until all fits max_bytes, and abandoned temporary folders.
  // Store calls it when needed. Returns the bytes that remain.
  int64_t CollectGarbage();

 private:
  explicit CubinCache(Options options) : options_(std::move(options)) {}
  std::string EntryDir(const std::string& key) const;

  Options options_;
  int64_t bytes_ = -1;  // what the folder holds as far as we know; -1 = not looked yet
};

}  // namespace cudaagent::compile

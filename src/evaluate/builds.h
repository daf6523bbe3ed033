// Kernels of many variants of one candidate, compiled several to a module: instances of one
// template share the parsing, and a module is cheap to leave half used. One that does not compile
// must not take the others with it, so a chunk that fails is halved until the culprit stands alone.
#pragma once

#include <deque>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/result.h"
#include "pool/compiler.h"
#include "util/time.h"

namespace cudaagent::evaluate {

// What the compiler made of one variant's kernels. Nothing at all for a plan without kernels.
struct Build {
  CompileReport report;
  std::map<std::string, std::string> lowered, demangled;
};

class Builds {
 public:
  // `base` is a job without kernels; `compiler` must outlive this.
  Builds(pool::CompilerPool& compiler, protocol::CompileJob base);

  // Starts compiling; waits for nothing. `kernels[i]`: the instances variant i launches.
  void Start(std::vector<std::vector<std::string>> kernels);
  // Until all is known or `deadline` has passed. An Error: there is no compiler any more.
  Result<void> Wait(util::Deadline deadline);
  // Variant i's build, or why it has none; nullopt where the deadline came first.
  std::optional<Checked<Build>> Take(size_t i) { return std::move(done_[i]); }

 private:
  struct Chunk {
    std::vector<size_t> variants;
    std::future<Result<protocol::CompileReply>> reply;
  };
  void Submit(std::vector<size_t> variants);
  void Settle(const Chunk& chunk, const protocol::CompileReply& reply);

  pool::CompilerPool& compiler_;
  protocol::CompileJob base_;
  std::vector<std::vector<std::string>> kernels_;
  std::vector<std::optional<Checked<Build>>> done_;
  std::deque<Chunk> chunks_;  // in flight
};

}  // namespace cudaagent::evaluate

#include "evaluate/builds.h"

#include <algorithm>
#include <set>
#include <utility>

namespace cudaagent::evaluate {
namespace {

// Measured: six instances of one template take 84 to 101 ms to compile, one 50 to 57 ms. Larger
// chunks gain little, and leave cores idle.
constexpr size_t kChunkInstances = 8;

}  // namespace

Builds::Builds(pool::CompilerPool& compiler, protocol::CompileJob base)
    : compiler_(compiler), base_(std::move(base)) {}

void Builds::Start(std::vector<std::vector<std::string>> kernels) {
  kernels_ = std::move(kernels);
  done_.resize(kernels_.size());
  std::vector<size_t> variants;
  std::set<std::string> instances;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].empty()) {
      done_[i] = Build{};
      continue;
    }
    std::set<std::string> with_this = instances;
    with_this.insert(kernels_[i].begin(), kernels_[i].end());
    if (!variants.empty() && with_this.size() > kChunkInstances) {
      Submit(std::exchange(variants, {}));
      with_this = {kernels_[i].begin(), kernels_[i].end()};
    }
    instances = std::move(with_this);
    variants.push_back(i);
  }
  if (!variants.empty()) Submit(std::move(variants));
}

void Builds::Submit(std::vector<size_t> variants) {
  protocol::CompileJob job = base_;
  std::set<std::string> instances;
  for (size_t i : variants) {
    for (const std::string& name : kernels_[i]) {
      if (instances.insert(name).second) job.kernels.push_back(name);
    }
  }
  chunks_.push_back({std::move(variants), compiler_.Submit(std::move(job))});
}

Result<void> Builds::Wait(util::Deadline deadline) {
  while (!chunks_.empty()) {
    if (chunks_.front().reply.wait_until(deadline.at()) != std::future_status::ready) return {};
    Chunk chunk = std::move(chunks_.front());
    chunks_.pop_front();
    Result<protocol::CompileReply> reply = chunk.reply.get();
    if (!reply) return tl::unexpected(reply.error());
    Settle(chunk, *reply);
  }
  return {};
}

void Builds::Settle(const Chunk& chunk, const protocol::CompileReply& reply) {
  const std::vector<size_t>& variants = chunk.variants;
  const bool differ = std::any_of(variants.begin(), variants.end(), [&](size_t i) {
    return kernels_[i] != kernels_[variants.front()];
  });
  if (!reply.ok && differ && reply.verdict != Verdict::kInfraError) {
    const auto middle = variants.begin() + static_cast<std::ptrdiff_t>(variants.size() / 2);
    Submit({variants.begin(), middle});
    Submit({middle, variants.end()});
    return;
  }
  for (size_t i : variants) {
    if (!reply.ok) {
      done_[i] = Blame(reply.verdict, reply.message);
      continue;
    }
    // Its own kernels alone: the device loads and reports what is named here.
    const std::set<std::string> own(kernels_[i].begin(), kernels_[i].end());
    Build build;
    build.report = reply.report;
    build.report.attempted = true;
    std::erase_if(build.report.kernels, [&](const auto& k) { return !own.contains(k.name); });
    for (const std::string& name : own) {
      const auto lowered = reply.lowered.find(name);
      const auto demangled = reply.demangled.find(name);
      if (lowered != reply.lowered.end()) build.lowered.insert(*lowered);
      if (demangled != reply.demangled.end()) build.demangled.insert(*demangled);
    }
    done_[i] = std::move(build);
  }
}

}  // namespace cudaagent::evaluate

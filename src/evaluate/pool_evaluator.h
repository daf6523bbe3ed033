// The Evaluator over a pool: one compiler, one worker, one problem.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "candidate/plan.h"
#include "candidate/tune.h"
#include "cudaagent/ceilings.h"
#include "cudaagent/evaluator.h"
#include "evaluate/device_choice.h"
#include "evaluate/device_lock.h"
#include "evaluate/evaluator.h"
#include "evaluate/loaded_worker.h"
#include "evaluate/scoring.h"
#include "graph/graph.h"
#include "pool/compiler.h"
#include "util/file.h"

namespace cudaagent::evaluate {

class PoolEvaluator : public Evaluator {
 public:
  explicit PoolEvaluator(Config config, MachineView machine = MachineView::Here())
      : config_(std::move(config)), machine_(std::move(machine)) {}

  // Each step once, in this order. `with_compiler` false: for what needs the problem alone.
  Result<void> Start(bool with_compiler);
  // Times torch.compile or recalls it; where it cannot be had, eager decides.
  Result<void> PrepareBaseline();
  // Measures the device's ceilings or recalls them; without them there is no speed of light.
  Result<void> PrepareCeilings();

  const ProblemInfo& problem() const override { return worker_->problem(); }
  Result<Evaluation> Evaluate(const Candidate& candidate) override;
  void CompileAhead(const Candidate& candidate) override;
  Result<Evaluation> Confirm(const Candidate& candidate) override;

 private:
  Result<void> CheckConfig() const;
  Result<void> LockDevice(const std::string& uuid, bool with_compiler);
  void Say(const std::string& line) const;

  Result<protocol::BaselineReply> MeasureBaseline(const std::vector<std::string>& modes,
                                                  bool* keep);

  enum class Occasion { kFirst, kConfirmation };
  Result<Evaluation> EvaluateOn(Occasion occasion, const Candidate& candidate);
  // The stages of one evaluation. Each returns false once the verdict has fallen.
  Result<bool> Judge(Occasion occasion, const Candidate& candidate, Evaluation* evaluation);
  Result<bool> Compile(const candidate::ParsedCandidate& parsed, protocol::EvaluateJob* job,
                       Evaluation* evaluation);
  // Of these kernels of a candidate: one that was begun ahead, else one begun now.
  std::future<Result<protocol::CompileReply>> BeginCompile(const candidate::ParsedCandidate& parsed,
                                                           std::vector<std::string> kernels,
                                                           const std::string& candidate_hash);
  // What does not depend on the tune values of a plan, kernels left out.
  protocol::CompileJob CompileJobOf(const candidate::ParsedCandidate& parsed) const;
  pool::StageLimits Limits() const;
  // `confirm`: where a worker that had served others dies, a fresh one must die as well before the
  // candidate is blamed.
  Result<void> RunOnDevice(const protocol::EvaluateJob& job, const pool::StageLimits& limits,
                           bool confirm, Evaluation* evaluation);
  Result<void> TakeAnswer(protocol::FromChild answer, Evaluation* evaluation);
  void BlameTrouble(const pool::Trouble& trouble, bool confirmed, bool served,
                    Evaluation* evaluation);
  Result<void> CountInfraError(Evaluation* evaluation, std::string message);

  // A candidate with tune values to choose from: tune.cpp.
  class Tuner;
  // What there is to try; nothing where the candidate is to be judged as it stands.
  candidate::Combinations ToTune(const candidate::Plan& plan) const;

  Config config_;
  MachineView machine_;
  DeviceChoice device_;
  util::TempDir own_logs_;
  DeviceLock lock_;
  std::unique_ptr<pool::CompilerPool> compiler_;
  std::string nvrtc_version_;
  std::unique_ptr<LoadedWorker> worker_;
  BaselineState baseline_;
  std::optional<Ceilings> ceilings_;
  std::optional<graph::Work> work_;
  int infra_errors_ = 0;  // in a row

  // Compiles that run already, by the candidate's hash.
  struct Ahead {
    std::vector<std::string> kernels;
    std::future<Result<protocol::CompileReply>> reply;
  };
  std::map<std::string, Ahead> ahead_;
};

// Each kernel step's arguments against the signatures the compiler found.
Checked<void> CheckSignatures(const candidate::Plan& plan, const ProblemInfo& problem,
                              const std::map<std::string, std::string>& demangled);

}  // namespace cudaagent::evaluate

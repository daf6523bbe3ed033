// The command line: parses, composes the rooms, prints, and maps every outcome to an exit code.
#pragma once

#include "cudaagent/evaluation.h"
#include "cudaagent/result.h"

namespace cudaagent::cli {

// Exit codes, as docs/cli.md lists them.
enum ExitCode {
  kExitOk = 0,
  kExitInternal = 1,
  kExitUsage = 2,
  kExitLlm = 3,
  kExitNoCorrectCandidate = 4,
  kExitGate = 5,
  kExitEnvironment = 6,
  kExitBudget = 7,
  kExitQuarantined = 8,
  kExitInterrupted = 130,
  kExitTerminated = 143,
};

// cudaagent's own version, "0.1.0".
const char* Version();

int ExitCodeOf(ErrorCode code);
int ExitCodeOf(Verdict verdict);

// Everything main() does but catching FatalError. Never calls exit().
int Run(int argc, char** argv);

}  // namespace cudaagent::cli

#include <cstdio>
#include <exception>

#include "cli/app.h"

int main(int argc, char** argv) {
  try {
    return cudaagent::cli::Run(argc, argv);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "cudaagent: internal error: %s\n", bug.what());
    return cudaagent::cli::kExitInternal;
  }
}

// A driver-like process: starts the program it is given as a worker and a spare, prints their pids
// and sleeps until it is killed.
#include <unistd.h>

#include <cstdio>

#include "pool/worker.h"

int main(int, char** argv) {
  cudaagent::pool::WorkerOptions options;
  options.program = argv[1];
  options.device = "cpu";
  options.model_gpu = "h200";
  options.log_dir = argv[2];
  options.environment = {"MISBEHAVE=ignores_term"};
  cudaagent::pool::Worker worker(options);
  if (!worker.Launch() || !worker.AwaitHello()) return 1;
  worker.EnsureSpare();
  std::printf("%d %d\n", static_cast<int>(worker.pid()), static_cast<int>(worker.spare_pid()));
  std::fflush(stdout);
  while (true) ::pause();
}

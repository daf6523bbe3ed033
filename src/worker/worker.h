// cudaagent-worker: one disposable process per device. Starts Python and the device, says hello on
// fd 3, then does one job after another until the driver is gone. Protocol:
// docs/worker_protocol.md.
#pragma once

namespace cudaagent::worker {

// Never returns normally: the process ends by _exit, so that no library's exit handler (CUPTI's
// callbacks, CUDA's teardown after a fault) runs. Exit codes: docs/worker_protocol.md.
int RunWorker(int argc, char** argv);

}  // namespace cudaagent::worker

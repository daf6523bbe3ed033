// The two ways to run cudaagent-compile.
#pragma once

#include <string>
#include <vector>

#include "compile/options.h"

namespace cudaagent::compile {

// The whole program: argv without its first word -> exit status. 0 done, 1 a bug, 3 a broken or
// mute driver, 2 usage, 4 (--once) the candidate's fault, 6 no NVRTC, headers or cache.
int Main(const std::vector<std::string>& arguments, const std::string& version);

// Says Hello on `fd`, then answers CompileJobs until Shutdown or the end of the stream; nothing it
// started outlives it. The exit status as above.
int Serve(int fd, const Options& options);

}  // namespace cudaagent::compile

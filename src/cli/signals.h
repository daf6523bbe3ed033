// Ctrl-C. The first asks to stop: nothing new is started, what runs is finished, the summary
// written. The second ends the process at once; the children see their sockets close and go too.
#pragma once

namespace cudaagent::cli {

void InstallSignalHandlers();
// SIGINT or SIGTERM, whichever came first; 0 = neither.
int StopSignal();

}  // namespace cudaagent::cli

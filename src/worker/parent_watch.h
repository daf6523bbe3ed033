// Ends the process when the driver dies, also while a kernel hangs or Python holds its lock.
#pragma once

namespace cudaagent::worker {

// Starts a detached thread that _exits with status 0 once the peer of the socket `fd` is gone.
// It takes no bytes from the socket.
void ExitWhenPeerHangsUp(int fd);

}  // namespace cudaagent::worker

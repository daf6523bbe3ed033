// Whose code reads %globaltimer: the toolkit's barriers and semaphores do while they wait.
#pragma once

#include <string_view>

namespace cudaagent::compile {

// Every read of %globaltimer stands, by the line table, in a header that a header called: the wait
// of a barrier or semaphore of the toolkit, and no code of the candidate's own. `ptx`: with its
// comments and quotes; inline assembly that brings line information of its own makes it false.
bool TimerOnlyInHeaders(std::string_view ptx);

// Whether a "#line" or "# 1" in CUDA text renames files or lines, so that a line table says
// nothing.
bool RenamesLines(std::string_view source);

}  // namespace cudaagent::compile

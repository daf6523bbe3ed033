// Errors of the world, and bugs. A candidate's fault is neither: see fault.h.
#pragma once

#include <stdexcept>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cudaagent {

// What kind of trouble the world gave. The command line maps each to an exit code (docs/cli.md).
enum class ErrorCode {
  kInternal,  // our own bug, or an answer from our own programs that makes no sense     -> exit 1
  kUsage,     // the user's arguments, configuration or files                            -> exit 2
  kLlm,       // the LLM endpoint failed for good                                        -> exit 3
  kEnvironment,  // no device, a library that will not load, a full disk, a worker that will
                 // not start, a problem larger than memory                                 -> exit
                 // 6
  kCancelled,    // a signal asked us to stop                                               -> exit
                 // 130/143
};

// `message` is one or more full sentences: what was tried, what is wrong, what to do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

// A bug or a hopeless start. Thrown anywhere, caught once, in main().
class FatalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cudaagent

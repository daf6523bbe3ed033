// One child program on fd 3: hello, messages under per-stage deadlines, death, a bounded end.
// One thread at a time. docs/worker_protocol.md has the rules.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "protocol/messages.h"
#include "util/subprocess.h"
#include "util/time.h"

namespace cudaagent::pool {

struct ChildOptions {
  std::string program;            // path
  std::string kind;               // what its Hello must say: "worker" | "compile"
  std::vector<std::string> args;  // after argv[0]
  std::vector<std::string> environment;
  std::string log_path;  // stdout and stderr
};

// Seconds a child may spend in each stage of a job. A StageNote starts the clock of its stage; a
// stage entered again keeps its first clock, so a job is bounded by the sum.
using StageLimits = std::map<std::string, double>;

// Why a job got no answer. The child has been killed by then.
struct Trouble {
  enum class Kind {
    kDied,      // the stream ended; `words`: "was killed by signal 11 (SIGSEGV)"
    kTimedOut,  // `limit_s` of `stage` passed
    kBroken,    // it sent something that is no valid answer; `words`: what
  };
  Kind kind = Kind::kDied;
  std::string stage;
  double limit_s = 0;
  std::string words;
};

// The last lines of a log, fit to print, indented; "" where it holds none.
std::string LogTail(const std::string& path);

class Child {
 public:
  // Starts the program and waits for nothing. kEnvironment.
  static Result<std::unique_ptr<Child>> Spawn(ChildOptions options);
  // Kills what still runs.
  ~Child();

  // The first frame, checked. kEnvironment with what happened and the log's tail; the child is then
  // dead.
  Result<protocol::Hello> AwaitHello(util::Deadline deadline);

  // One frame to the child; a child that takes none for 30 s counts as dead.
  tl::expected<void, Trouble> Send(const std::string& message);

  // The answer to a job that starts in `stage`. StageNotes are consumed, others returned as they
  // are.
  tl::expected<protocol::FromChild, Trouble> Receive(const std::string& stage,
                                                     const StageLimits& limits);
  // The next message, whatever it is, once the socket is readable.
  tl::expected<protocol::FromChild, Trouble> ReceiveAny(util::Deadline deadline);

  // Asks it to go (shutdown, end of stream), then SIGTERM, then Kill().
  void Stop();
  // SIGKILL to the group, then a bounded wait.
  void Kill();

  bool alive();  // its process has not ended
  // True where not even SIGKILL ended it in time.
  bool unkillable() const { return unkillable_; }
  int socket() const { return process_.socket(); }
  pid_t pid() const { return process_.pid(); }
  const std::string& log_path() const { return options_.log_path; }

 private:
  Child(ChildOptions options, util::Subprocess process);

  // Ends the child, whose stream has ended, and says how it died.
  Trouble Bury(const std::string& stage);
  tl::unexpected<Trouble> GiveUp(Trouble::Kind kind, const std::string& stage, double limit_s,
                                 std::string words);

  ChildOptions options_;
  util::Subprocess process_;
  bool unkillable_ = false;
};

}  // namespace cudaagent::pool

#include "worker/jobs.h"

namespace cudaagent::worker {

protocol::FromChild RunLoadJob(const protocol::LoadProblem& job, Session& session,
                               Channel& channel) {
  channel.EnterStage("load");
  if (auto loaded = session.Load(job.spec); !loaded) return protocol::ErrorReply{loaded.error()};
  return protocol::ProblemReply{session.reference().info()};
}

}  // namespace cudaagent::worker

// The jobs of a worker. Each sends its stage notes on the channel and returns the one reply.
#pragma once

#include "protocol/messages.h"
#include "worker/channel.h"
#include "worker/session.h"

namespace cudaagent::worker {

// ProblemReply, or ErrorReply (kUsage: the user's file; kEnvironment: it does not fit).
protocol::FromChild RunLoadJob(const protocol::LoadProblem& job, Session& session,
                               Channel& channel);

// EvaluationReply (`poisoned` where the device is lost), or ErrorReply where it is no candidate's
// fault.
protocol::FromChild RunEvaluateJob(const protocol::EvaluateJob& job, Session& session,
                                   Channel& channel);

// BaselineReply, or ErrorReply where there is no problem.
protocol::FromChild RunBaselineJob(const protocol::BaselineJob& job, Session& session,
                                   Channel& channel);

// CalibrationReply, or ErrorReply where the device's ceilings cannot be measured.
protocol::FromChild RunCalibrateJob(Session& session, Channel& channel);

}  // namespace cudaagent::worker

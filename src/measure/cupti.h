// CUPTI's activity API, taken by dlopen from the copy torch brought along. One per process; used
// from one thread. Callbacks may run at exit, so its state is never freed.
#pragma once

#include <cstdint>
#include <string>

#include "measure/activity.h"

namespace cudaagent::measure {

class Cupti {
 public:
  static Cupti& Get();

  // Loads the library and turns graph-level tracing on, which must precede the first instantiation
  // of a graph: turning it on later crashes the process. Does nothing the second time.
  void Init();
  bool usable() const { return usable_; }
  // "13.0", or why it is not usable.
  const std::string& status() const { return status_; }

  // Records single activities and API calls until Stop(). Nodes of graphs stay hidden behind their
  // graph. False (and no longer usable) where CUPTI refuses.
  bool Start();
  void Stop();

  // API calls between the two belong to `iteration`.
  void Push(uint64_t iteration);
  void Pop();

  // Moves what was recorded since the last call into `log`; the device must be idle. `forced` also
  // delivers what CUPTI believes unfinished.
  void Flush(bool forced, ActivityLog* log);

 private:
  Cupti() = default;
  std::string TryInit();
  void Refuse(const std::string& call, int result);

  bool initialised_ = false;
  bool usable_ = false;
  std::string status_ = "CUPTI was not initialised.";
};

}  // namespace cudaagent::measure

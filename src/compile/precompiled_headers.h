// Precompiled forms of the headers candidates begin with.
//
// Including cooperative_groups.h costs a second, loading its precompiled form a fifth of one. Two
// facts shape this class. NVRTC accepts a precompiled header only at the address where it was made,
// so the heap is allocated once, in the parent, and every fork shares its address. And a
// precompiled header stands before the candidate's first line, so it may hold only what the
// candidate includes before its first other token, in whatever order; the includes themselves then
// find their guards set.
//
// Only text of ours is compiled here, in a jailed child of low priority; a candidate's child may
// read the files but write nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/compile_child.h"
#include "compile/forked_task.h"

namespace cudaagent::compile {

// The headers a file includes before anything else: only comments, blank lines and #include lines
// stand before them.
std::vector<std::string> LeadingIncludes(std::string_view source);

class PrecompiledHeaders {
 public:
  // Files go to `dir`, which is the caller's to remove.
  PrecompiledHeaders(ChildSetup setup, std::string dir);

  // Compiles an empty program here, in the parent: allocates the heap, loads NVRTC's builtins. Then
  // Wants the headers most candidates use.
  void Warm(const std::vector<std::string>& nvrtc_options);

  // What to put before `source` under these options. `keep` holds the file on disk until dropped.
  struct Choice {
    FirstHeaders first;
    std::shared_ptr<const std::string> keep;
  };
  // Also notes what would have been better; MakeNext builds it.
  Choice For(const std::string& source, const std::vector<std::string>& nvrtc_options);

  // Starts to build the next one that is wanted, if none is being built. At most kMaxFiles are
  // kept.
  void MakeNext();
  // The build in progress, or nullptr.
  ForkedTask* task() { return building_ ? &building_->task : nullptr; }
  void FinishTask();  // after task()->Read() returned true

  size_t ready() const { return files_.size(); }
  bool busy() const { return building_ != nullptr || !wanted_.empty(); }

  static constexpr size_t kMaxFiles = 8;

 private:
  struct Wanted {
    std::vector<std::string> options, headers;
    bool operator==(const Wanted&) const = default;
  };
  struct File {
    Wanted what;
    std::shared_ptr<const std::string> path;  // deleting it removes the file
    int64_t last_use = 0;
  };
  struct Building {
    Wanted what;
    std::string path;
    ForkedTask task;
  };

  void Want(Wanted wanted);

  ChildSetup setup_;
  std::string dir_;
  bool usable_ = false;
  std::vector<Wanted> wanted_, failed_;
  std::vector<File> files_;
  std::unique_ptr<Building> building_;
  int64_t uses_ = 0;
  int made_ = 0;
};

}  // namespace cudaagent::compile

#include "bench/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "bench/process_tree.h"
#include "protocol/evaluation_json.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::bench {
namespace {

constexpr double kTickSeconds = 0.2;
constexpr double kMemoryCheckSeconds = 0.5;

constexpr const char* kBegin = "begin";

// The child's side of the pipe: a row a line, and the word that its time begins.
void WriteLine(int fd, const std::string& text) {
  const std::string line = text + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(fd, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);  // the parent is gone
    done += n;
  }
}

std::string ReadLine(int fd) {
  std::string line;
  for (char c; true;) {
    const ssize_t n = read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);  // the parent is gone
    if (c == '\n') return line;
    line += c;
  }
}

class Runner {
 public:
  Runner(const std::vector<Task>& tasks, const RunnerOptions& options,
         const RunnerCallbacks& callbacks)
      : options_(options), callbacks_(callbacks) {
    for (const Task& task : tasks) waiting_.push_back(&task);
    for (const std::string& device : options.devices) slots_.push_back(Slot{device});
  }

  RunnerEnd Run() {
    // A killed child's workers become ours: their end can be awaited.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (!Done()) {
      StartWhatCan();
      Wait();
      for (Slot& slot : slots_) {
        if (slot.busy()) Look(slot);
      }
      Tick();
      if (end_.error) StopAll();
    }
    return std::move(end_);
  }

 private:
  struct Slot {
    std::string device;
    const Task* task = nullptr;
    pid_t pid = -1;
    util::UniqueFd pipe;
    std::string buffer;
    std::set<int> rows;  // samples that have theirs
    util::Deadline deadline = util::Deadline::Never();
    bool begun = false;
    util::Stopwatch watch;
    std::optional<std::pair<Cause, std::string>> killed;
    int infra_errors = 0;
    bool sick = false;
    bool busy() const { return task != nullptr; }
  };

  // A process for the next task, ahead of its turn.
  struct Standby {
    std::string device;
    const Task* task = nullptr;
    pid_t pid = -1;
    util::UniqueFd pipe, turn;  // its rows; where it hears that it may go on
  };

  bool Done() const {
    const bool idle =
        std::none_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.busy(); });
    const bool all_sick =
        std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.sick; });
    const bool nothing = waiting_.empty() && standbys_.empty();
    return idle && (nothing || end_.interrupted || end_.error || all_sick);
  }

  void StartWhatCan() {
    if (end_.interrupted || end_.error) return;
    for (Slot& slot : slots_) {
      if (slot.busy() || slot.sick || Promote(slot)) continue;
      if (waiting_.empty()) continue;
      Start(slot, *waiting_.front());
      waiting_.pop_front();
      if (end_.error) return;
    }
    for (const Slot& slot : slots_) {
      const bool has = std::any_of(standbys_.begin(), standbys_.end(),
                                   [&](const Standby& s) { return s.device == slot.device; });
      // Not before the present task is under way: two starts at once would slow each other down.
      if (waiting_.empty() || has || !slot.busy() || !slot.begun || slot.sick) continue;
      StartStandby(slot.device, *waiting_.front());
      if (end_.error) return;
    }
  }

  void StartStandby(const std::string& device, const Task& task) {
    int turn[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, turn) != 0)
      return FailStart("socketpair");
    util::UniqueFd hears(turn[0]), says(turn[1]);
    Standby standby{device, &task, -1, {}, std::move(says)};
    if (!Spawn(device, task, hears.get(), &standby.pid, &standby.pipe)) return;
    standbys_.push_back(std::move(standby));
    waiting_.pop_front();
  }

  // Gives a free slot to the process that stands by for its device; false = there is none.
  bool Promote(Slot& slot) {
    const auto next = std::find_if(standbys_.begin(), standbys_.end(),
                                   [&](const Standby& s) { return s.device == slot.device; });
    if (next == standbys_.end()) return false;
    Standby standby = std::move(*next);
    standbys_.erase(next);
    const auto uuid = uuids_.find(slot.device);
    const std::string line = (uuid == uuids_.end() ? "" : uuid->second) + "\n";
    // One that has died meanwhile is found by its rows' end: they are then salvaged.
    [[maybe_unused]] const ssize_t said =
        send(standby.turn.get(), line.data(), line.size(), MSG_NOSIGNAL);
    Occupy(slot, *standby.task, standby.pid, std::move(standby.pipe));
    return true;
  }

  // Ends processes that stand by for a device (all for ""); their tasks wait again.
  void DropStandbys(const std::string& device) {
    for (auto each = standbys_.begin(); each != standbys_.end();) {
      if (!device.empty() && each->device != device) {
        ++each;
        continue;
      }
      for (pid_t pid : ProcessTree(each->pid)) kill(pid, SIGKILL);
      while (waitpid(each->pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      waiting_.push_front(each->task);
      each = standbys_.erase(each);
    }
    ReapOrphans();
  }

  void Start(Slot& slot, const Task& task) {
    pid_t pid = -1;
    util::UniqueFd pipe;
    if (Spawn(slot.device, task, -1, &pid, &pipe)) Occupy(slot, task, pid, std::move(pipe));
  }

  void Occupy(Slot& slot, const Task& task, pid_t pid, util::UniqueFd pipe) {
    slot.task = &task;
    slot.pid = pid;
    slot.pipe = std::move(pipe);
    slot.buffer.clear();
    slot.rows.clear();
    slot.killed.reset();
    slot.watch = util::Stopwatch();
    slot.begun = false;
    slot.deadline = util::Deadline::After(options_.start_timeout_s);
  }

  // Starts a task's process; `turn`, where it is not -1, is what it waits for. False and end_.error
  // where that failed.
  bool Spawn(const std::string& device, const Task& task, int turn, pid_t* pid,
             util::UniqueFd* pipe) {
    const std::string log = options_.log_folder + "/" + task.problem.key + ".log";
    if (auto made = util::MakeDirs(std::filesystem::path(log).parent_path()); !made) {
      end_.error = made.error();
      return false;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      FailStart("pipe");
      return false;
    }
    util::UniqueFd read_end(ends[0]), write_end(ends[1]);
    const pid_t parent = getpid();
    *pid = fork();
    if (*pid < 0) {
      FailStart("fork");
      return false;
    }
    if (*pid == 0) {
      read_end.reset();
      Child(device, task, write_end.get(), turn, log, parent);
    }
    setpgid(*pid, *pid);
    fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    *pipe = std::move(read_end);
    return true;
  }

  void FailStart(const char* what) {
    end_.error = Error{
        ErrorCode::kEnvironment,
        fmt::format("Could not start a problem's process: {} failed: {}.", what, strerror(errno))};
  }

  [[noreturn]] void Child(const std::string& device, const Task& task, int out, int turn,
                          const std::string& log, pid_t parent) {
    setpgid(0, 0);  // Ctrl-C is the parent's to pass on
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log_fd >= 0) {
      dup2(log_fd, STDOUT_FILENO);
      dup2(log_fd, STDERR_FILENO);
    }
    GoFirstWhenMemoryEnds();
    std::set<int> given;
    Voice voice;
    voice.emit = [&](Row row) {
      given.insert(row.sample);
      WriteLine(out, protocol::ToText(ToJson(row), -1));
    };
    voice.begin = [out] { WriteLine(out, kBegin); };
    if (turn >= 0) {
      voice.await_turn = [turn, known = std::optional<std::string>()]() mutable {
        if (!known) known = ReadLine(turn);
        return *known;
      };
    }
    try {
      callbacks_.work(task, device, voice);
    } catch (const std::exception& bug) {
      for (const Sample& sample : task.samples) {
        if (given.contains(sample.number)) continue;
        Row row = RowOf(task.problem, sample.number);
        row.device = device;
        row.message = std::string("Internal error: ") + bug.what();
        row.date = util::NowIso8601();
        voice.emit(std::move(row));
      }
    }
    _exit(0);  // what was inherited is the parent's to clean up
  }

  void Wait() {
    std::vector<pollfd> fds;
    for (const Slot& slot : slots_) {
      if (slot.busy()) fds.push_back({slot.pipe.get(), POLLIN, 0});
    }
    poll(fds.data(), fds.size(), static_cast<int>(kTickSeconds * 1000));
  }

  void Look(Slot& slot) {
    const bool open = Read(slot);
    if (!open) return Finish(slot);
    if (slot.killed) return;
    if (slot.deadline.Passed() && !slot.begun) {
      return Kill(slot, Cause::kDied,
                  "The problem's worker was not ready after " +
                      util::FormatSeconds(options_.start_timeout_s) + " and was killed.");
    }
    if (slot.deadline.Passed()) {
      return Kill(slot, Cause::kTimeout,
                  "The problem did not finish within " +
                      util::FormatSeconds(options_.problem_timeout_s) +
                      " (--problem-timeout) and was killed.");
    }
    if (options_.memory_bytes > 0 && memory_watch_.Seconds() >= kMemoryCheckSeconds) {
      const int64_t used = MemoryOf(ProcessTree(slot.pid));
      if (used > options_.memory_bytes) {
        Kill(slot, Cause::kMemory,
             fmt::format("The problem's processes took {} of memory, more than the {} they may "
                         "(--memory-limit), and were killed.",
                         util::FormatBytes(used), util::FormatBytes(options_.memory_bytes)));
      }
    }
  }

  void Kill(Slot& slot, Cause cause, const std::string& words) {
    slot.killed.emplace(cause, words);
    for (pid_t pid : ProcessTree(slot.pid)) kill(pid, SIGKILL);
  }

  // False at the pipe's end.
  bool Read(Slot& slot) {
    char bytes[65536];
    while (true) {
      const ssize_t n = read(slot.pipe.get(), bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return true;
      if (n == 0) return false;
      slot.buffer.append(bytes, n);
      TakeLines(slot);
    }
  }

  void TakeLines(Slot& slot) {
    for (size_t end; (end = slot.buffer.find('\n')) != std::string::npos;) {
      const std::string line = slot.buffer.substr(0, end);
      slot.buffer.erase(0, end + 1);
      if (line == kBegin) {
        if (!slot.begun) slot.deadline = util::Deadline::After(options_.problem_timeout_s);
        slot.begun = true;
        continue;
      }
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (auto row = RowFromJson(json)) Keep(slot, std::move(*row));
    }
  }

  void Keep(Slot& slot, Row row) {
    if (!slot.rows.insert(row.sample).second) return;
    slot.infra_errors = row.outcome == Outcome::kInfraError ? slot.infra_errors + 1 : 0;
    if (row.evaluation && !row.evaluation->device.uuid.empty())
      uuids_[slot.device] = row.evaluation->device.uuid;
    if (end_.error) return;
    if (auto kept = callbacks_.on_row(std::move(row)); !kept) end_.error = kept.error();
  }

  void Finish(Slot& slot) {
    int status = 0;
    while (waitpid(slot.pid, &status, 0) < 0 && errno == EINTR) {
    }
    ReapOrphans();
    std::pair<Cause, std::string> why = {Cause::kDied, ""};
    if (slot.killed) {
      why = *slot.killed;
    } else {
      const util::Death death{WIFSIGNALED(status),
                              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
      why.second = "The problem's own process " + death.InWords() + " before it had its result.";
    }
    const bool asked = end_.interrupted && !slot.killed;
    for (const Sample& sample : slot.task->samples) {
      if (slot.rows.contains(sample.number) || asked) continue;
      Row row = callbacks_.salvage(*slot.task, sample, why.first, why.second);
      row.device = slot.device;
      row.seconds = slot.watch.Seconds();
      Keep(slot, std::move(row));
    }
    slot.task = nullptr;
    slot.pipe.reset();
    if (slot.infra_errors >= options_.max_infra_errors && !slot.sick) {
      slot.sick = true;
      end_.sick.push_back(slot.device);
      DropStandbys(slot.device);
    }
  }

  // Workers of killed children, which were given to us: a device is free once they are gone.
  void ReapOrphans() {
    const auto deadline = util::Deadline::After(10);
    while (!deadline.Passed()) {
      bool left = false;
      for (pid_t pid : ChildrenOf(getpid())) {
        const bool busy = std::any_of(slots_.begin(), slots_.end(),
                                      [pid](const Slot& s) { return s.busy() && s.pid == pid; });
        const bool stands_by = std::any_of(standbys_.begin(), standbys_.end(),
                                           [pid](const Standby& s) { return s.pid == pid; });
        if (busy || stands_by) continue;
        if (waitpid(pid, nullptr, WNOHANG) == 0) left = true;
      }
      if (!left) return;
      usleep(20'000);
    }
  }

  void Tick() {
    if (memory_watch_.Seconds() >= kMemoryCheckSeconds) memory_watch_ = util::Stopwatch();
    if (const int signal = callbacks_.stop_signal(); signal != 0 && !end_.interrupted) {
      end_.interrupted = true;
      DropStandbys("");
      for (const Slot& slot : slots_) {
        if (slot.busy()) kill(slot.pid, signal);
      }
    }
    std::vector<std::pair<std::string, double>> running;
    for (const Slot& slot : slots_) {
      if (slot.busy()) running.emplace_back(slot.task->problem.key, slot.watch.Seconds());
    }
    callbacks_.on_tick(running);
  }

  void StopAll() {
    DropStandbys("");
    for (Slot& slot : slots_) {
      if (slot.busy() && !slot.killed) Kill(slot, Cause::kDied, "The bench ended.");
    }
  }

  const RunnerOptions& options_;
  const RunnerCallbacks& callbacks_;
  std::deque<const Task*> waiting_;
  std::vector<Slot> slots_;
  std::vector<Standby> standbys_;             // at most one for each device
  std::map<std::string, std::string> uuids_;  // of GPUs, by device name, as rows told them
  util::Stopwatch memory_watch_;
  RunnerEnd end_;
};

}  // namespace

RunnerEnd RunTasks(const std::vector<Task>& tasks, const RunnerOptions& options,
                   const RunnerCallbacks& callbacks) {
  return Runner(tasks, options, callbacks).Run();
}

}  // namespace cudaagent::bench

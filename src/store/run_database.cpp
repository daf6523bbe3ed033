#include "store/run_database.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "protocol/evaluation_json.h"
#include "store/schema.h"
#include "util/hash.h"

namespace cudaagent::store {
namespace {

using nlohmann::json;

std::string Line(const json& document) { return protocol::ToText(document, -1); }

// The problem's identity: all of the spec but where the file lies.
std::string ContentHash(const ProblemSpec& spec) {
  ProblemSpec settings = spec;
  settings.path.clear();
  settings.source.clear();
  return util::Sha256Hex(Line(protocol::ToJson(settings)) + "\n" + spec.source);
}

// Runs a statement that gives no rows.
Result<void> Execute(Result<Statement>& statement) {
  if (!statement) return tl::unexpected(statement.error());
  auto done = statement->Step();
  if (!done) return tl::unexpected(done.error());
  return {};
}

Result<void> InsertAttempt(Database& database, const Attempt& attempt, bool new_best) {
  auto insert = database.Prepare("INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  if (insert) {
    insert->Bind(int64_t{attempt.number})
        .Bind(int64_t{attempt.parent})
        .Bind(attempt.candidate.origin)
        .Bind(attempt.candidate.note)
        .Bind(attempt.candidate.source)
        .Bind(attempt.feedback)
        .Bind(int64_t{new_best})
        .Bind(attempt.elapsed_s);
  }
  return Execute(insert);
}

Result<void> InsertEvaluation(Database& database, const Attempt& attempt) {
  auto insert = database.Prepare("INSERT INTO evaluation VALUES (?, ?, ?, ?)");
  if (insert) {
    const Evaluation& evaluation = attempt.evaluation;
    insert->Bind(int64_t{attempt.number}).Bind(std::string(ToString(evaluation.verdict)));
    evaluation.reward ? insert->Bind(*evaluation.reward) : insert->BindNull();
    insert->Bind(Line(protocol::ToJson(evaluation)));
  }
  return Execute(insert);
}

Result<void> InsertExchange(Database& database, int number, const Proposal& proposal) {
  auto insert = database.Prepare("INSERT INTO exchange VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (insert) {
    insert->Bind(int64_t{number})
        .Bind(proposal.prompt)
        .Bind(proposal.answer)
        .Bind(proposal.reasoning)
        .Bind(proposal.finish_reason)
        .Bind(proposal.prompt_hash)
        .Bind(proposal.candidate.fault ? proposal.candidate.fault->message : std::string())
        .Bind(proposal.prompt_tokens)
        .Bind(proposal.completion_tokens)
        .Bind(proposal.reasoning_tokens)
        .Bind(proposal.cached_tokens);
  }
  return Execute(insert);
}

}  // namespace

Result<RunDatabase> RunDatabase::OpenToWrite(const std::string& path) {
  auto database = Database::Open(path, Database::Mode::kWrite);
  if (!database) return tl::unexpected(database.error());
  if (auto migrated = Migrate(*database); !migrated) return tl::unexpected(migrated.error());
  return RunDatabase(std::move(*database));
}

Result<RunDatabase> RunDatabase::OpenToRead(const std::string& path) {
  auto database = Database::Open(path, Database::Mode::kRead);
  if (!database) return tl::unexpected(database.error());
  if (auto checked = CheckSchema(*database); !checked) return tl::unexpected(checked.error());
  return RunDatabase(std::move(*database));
}

Result<bool> RunDatabase::HoldsRun() {
  auto runs = database_.Integer("SELECT count(*) FROM run");
  if (!runs) return tl::unexpected(runs.error());
  return *runs > 0;
}

Result<void> RunDatabase::Begin(const RunDescription& description) {
  auto transaction = Transaction::Begin(database_);
  if (!transaction) return tl::unexpected(transaction.error());
  const std::string hash = ContentHash(description.spec);
  auto problem = database_.Prepare("INSERT INTO problem VALUES (?, ?, ?, ?)");
  if (problem) {
    problem->Bind(hash)
        .Bind(description.spec.path)
        .Bind(description.spec.source)
        .Bind(Line(protocol::ToJson(description.spec)));
  }
  if (auto inserted = Execute(problem); !inserted) return inserted;
  auto run = database_.Prepare("INSERT INTO run VALUES (1, ?, ?, ?, ?, ?, ?, ?, '', 0, 0.0)");
  if (run) {
    run->Bind(hash)
        .Bind(description.version)
        .Bind(description.started)
        .Bind(Line(description.arguments))
        .Bind(Line(description.flags))
        .Bind(Line(description.recheck))
        .Bind(description.proposer);
  }
  if (auto inserted = Execute(run); !inserted) return inserted;
  return transaction->Commit();
}

Result<void> RunDatabase::Continue(const FlagValues& flags) {
  auto update = database_.Prepare("UPDATE run SET flags = ?, stopped = '', finished = 0");
  if (update) update->Bind(Line(flags));
  return Execute(update);
}

Result<void> RunDatabase::SaveAttempt(const Attempt& attempt, const Proposal* proposal,
                                      bool new_best) {
  auto transaction = Transaction::Begin(database_);
  if (!transaction) return tl::unexpected(transaction.error());
  if (auto saved = InsertAttempt(database_, attempt, new_best); !saved) return saved;
  if (auto saved = InsertEvaluation(database_, attempt); !saved) return saved;
  if (proposal != nullptr) {
    auto saved = InsertExchange(database_, attempt.number, *proposal);
    if (!saved) return saved;
  }
  return transaction->Commit();
}

Result<void> RunDatabase::SaveConfirmation(const Attempt& attempt, int best) {
  auto transaction = Transaction::Begin(database_);
  if (!transaction) return tl::unexpected(transaction.error());
  auto insert = database_.Prepare("INSERT OR REPLACE INTO confirmation VALUES (?, ?, ?)");
  if (insert) {
    insert->Bind(int64_t{attempt.number})
        .Bind(std::string(ToString(attempt.confirmation->verdict)))
        .Bind(Line(protocol::ToJson(*attempt.confirmation)));
  }
  if (auto saved = Execute(insert); !saved) return saved;
  if (attempt.confirmation->verdict != Verdict::kOk) {
    auto refuted = database_.Prepare("UPDATE attempt SET new_best = 0 WHERE number = ?");
    if (refuted) refuted->Bind(int64_t{attempt.number});
    if (auto saved = Execute(refuted); !saved) return saved;
  }
  auto marked = database_.Prepare("UPDATE attempt SET new_best = 1 WHERE number = ?");
  if (marked) marked->Bind(int64_t{best});
  if (auto saved = Execute(marked); !saved) return saved;
  return transaction->Commit();
}

Result<void> RunDatabase::End(const std::string& stopped, bool finished, double elapsed_s) {
  auto update = database_.Prepare("UPDATE run SET stopped = ?, finished = ?, elapsed_s = ?");
  if (update) update->Bind(stopped).Bind(int64_t{finished}).Bind(elapsed_s);
  return Execute(update);
}

Error RunDatabase::Damaged(const std::string& what) const {
  return {ErrorCode::kEnvironment, database_.path() + " is damaged: " + what + "."};
}

Result<StoredRun> RunDatabase::Read() {
  // One transaction: what a writer adds meanwhile is not seen by half.
  if (auto begun = database_.Run("BEGIN"); !begun) return tl::unexpected(begun.error());
  StoredRun run;
  auto read = ReadDescription(&run);
  if (read) read = ReadAttempts(&run);
  (void)database_.Run("COMMIT");
  if (!read) return tl::unexpected(read.error());
  return run;
}

Result<void> RunDatabase::ReadDescription(StoredRun* run) {
  auto select = database_.Prepare(
      "SELECT cudaagent, started, arguments, flags, recheck, proposer, stopped, finished, "
      "elapsed_s, "
      "path, source, spec FROM run JOIN problem ON problem_hash = hash");
  if (!select) return tl::unexpected(select.error());
  auto row = select->Step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return tl::unexpected(Damaged("it holds no run"));
  RunDescription& description = run->description;
  try {
    auto spec = protocol::ProblemSpecFromJson(json::parse(select->Text(11)));
    if (!spec) return tl::unexpected(Damaged(spec.error().message));
    description.spec = std::move(*spec);
    json::parse(select->Text(2)).get_to(description.arguments);
    json::parse(select->Text(3)).get_to(description.flags);
    json::parse(select->Text(4)).get_to(description.recheck);
  } catch (const json::exception& error) {
    return tl::unexpected(Damaged(error.what()));
  }
  description.version = select->Text(0);
  description.started = select->Text(1);
  description.proposer = select->Text(5);
  description.spec.path = select->Text(9);  // JSON has replaced what is no UTF-8
  description.spec.source = select->Text(10);
  run->stopped = select->Text(6);
  run->finished = select->Integer(7) != 0;
  run->elapsed_s = select->Real(8);
  return {};
}

Result<void> RunDatabase::ReadAttempts(StoredRun* run) {
  auto select = database_.Prepare(
      "SELECT number, parent, origin, note, source, feedback, new_best, a.elapsed_s, e.json, "
      "x.attempt, prompt, answer, reasoning, finish_reason, prompt_hash, x.fault, prompt_tokens, "
      "completion_tokens, reasoning_tokens, cached_tokens, c.json FROM attempt a "
      "JOIN evaluation e ON e.attempt = number LEFT JOIN exchange x ON x.attempt = number "
      "LEFT JOIN confirmation c ON c.attempt = number "
      "ORDER BY number");
  if (!select) return tl::unexpected(select.error());
  while (true) {
    auto row = select->Step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) break;
    StoredAttempt& stored = run->attempts.emplace_back();
    Attempt& attempt = stored.attempt;
    attempt.number = static_cast<int>(select->Integer(0));
    if (attempt.number != static_cast<int>(run->attempts.size()) - 1) {
      return tl::unexpected(
          Damaged("attempt " + std::to_string(run->attempts.size() - 1) + " is missing"));
    }
    attempt.parent = static_cast<int>(select->Integer(1));
    attempt.candidate = {select->Text(4), select->Text(2), select->Text(3)};
    attempt.feedback = select->Text(5);
    attempt.elapsed_s = select->Real(7);
    stored.new_best = select->Integer(6) != 0;
    const json document = json::parse(select->Text(8), nullptr, false);
    auto evaluation = protocol::EvaluationFromJson(document);
    if (!evaluation) return tl::unexpected(Damaged(evaluation.error().message));
    attempt.evaluation = std::move(*evaluation);
    if (!select->IsNull(20)) {
      auto confirmation =
          protocol::EvaluationFromJson(json::parse(select->Text(20), nullptr, false));
      if (!confirmation) return tl::unexpected(Damaged(confirmation.error().message));
      attempt.confirmation = std::move(*confirmation);
    }
    if (!select->IsNull(9)) {
      Proposal& proposal = stored.proposal.emplace();
      proposal.candidate = attempt.candidate;
      proposal.prompt = select->Text(10);
      proposal.answer = select->Text(11);
      proposal.reasoning = select->Text(12);
      proposal.finish_reason = select->Text(13);
      proposal.prompt_hash = select->Text(14);
      const std::string fault = select->Text(15);
      if (!fault.empty()) proposal.candidate.fault = Fault{Verdict::kBadCandidate, fault};
      proposal.prompt_tokens = select->Integer(16);
      proposal.completion_tokens = select->Integer(17);
      proposal.reasoning_tokens = select->Integer(18);
      proposal.cached_tokens = select->Integer(19);
      attempt.usage = proposal;
    }
    run->elapsed_s = std::max(run->elapsed_s, attempt.elapsed_s);
  }
  return {};
}

Result<RunGlance> RunDatabase::Glance() {
  auto select = database_.Prepare(
      "SELECT path, proposer, started, stopped, finished, (SELECT count(*) FROM attempt), "
      "(SELECT max(number) FROM attempt WHERE new_best), "
      "(SELECT coalesce(c.json, e.json) FROM evaluation e LEFT JOIN confirmation c "
      "USING (attempt) WHERE e.attempt = (SELECT max(number) FROM attempt WHERE new_best)) "
      "FROM run JOIN problem ON problem_hash = hash");
  if (!select) return tl::unexpected(select.error());
  auto row = select->Step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return tl::unexpected(Damaged("it holds no run"));
  RunGlance glance;
  glance.model = select->Text(0);
  glance.proposer = select->Text(1);
  glance.started = select->Text(2);
  glance.stopped = select->Text(3);
  glance.finished = select->Integer(4) != 0;
  glance.attempts = static_cast<int>(select->Integer(5));
  if (!select->IsNull(6)) {
    glance.best = static_cast<int>(select->Integer(6));
    auto evaluation = protocol::EvaluationFromJson(json::parse(select->Text(7), nullptr, false));
    if (!evaluation) return tl::unexpected(Damaged(evaluation.error().message));
    glance.best_evaluation = std::move(*evaluation);
  }
  return glance;
}

}  // namespace cudaagent::store

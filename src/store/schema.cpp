#include "store/schema.h"

#include <iterator>

namespace cudaagent::store {
namespace {

// kMigrations[i] leads from version i to i + 1 (PRAGMA user_version). Never edit one that was
// released.
constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE problem (
  hash TEXT PRIMARY KEY,        -- of source, class, consts, dtype, precision
  path TEXT NOT NULL,
  source TEXT NOT NULL,         -- model.py as it was read, byte for byte
  spec TEXT NOT NULL            -- JSON (docs/evaluation.md)
) STRICT;
CREATE TABLE run (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  problem_hash TEXT NOT NULL REFERENCES problem (hash),
  cudaagent TEXT NOT NULL,      -- the version that began it
  started TEXT NOT NULL,        -- ISO 8601, UTC
  arguments TEXT NOT NULL,      -- JSON: argv, for the record
  flags TEXT NOT NULL,          -- JSON: {"--dtype": ["float16"]}, what a resumed run is started with
  recheck TEXT NOT NULL,        -- JSON: the words that judge a kernel again
  proposer TEXT NOT NULL,
  stopped TEXT NOT NULL,        -- why it ended; empty while it runs and after a kill
  finished INTEGER NOT NULL,    -- 1: a limit was reached; 0: resuming goes on
  elapsed_s REAL NOT NULL       -- over all sittings
) STRICT;
CREATE TABLE attempt (
  number INTEGER PRIMARY KEY,
  parent INTEGER NOT NULL,      -- -1 = none
  origin TEXT NOT NULL,
  note TEXT NOT NULL,
  source TEXT NOT NULL,
  feedback TEXT NOT NULL,
  new_best INTEGER NOT NULL,
  elapsed_s REAL NOT NULL       -- since the run began, when it was stored
) STRICT;
CREATE TABLE evaluation (
  attempt INTEGER PRIMARY KEY REFERENCES attempt (number),
  verdict TEXT NOT NULL,
  reward REAL,
  json TEXT NOT NULL            -- docs/evaluation.md
) STRICT;
CREATE TABLE exchange (         -- what the proposer was asked and answered; none for the baseline
  attempt INTEGER PRIMARY KEY REFERENCES attempt (number),
  prompt TEXT NOT NULL,
  answer TEXT NOT NULL,
  reasoning TEXT NOT NULL,
  finish_reason TEXT NOT NULL,
  prompt_hash TEXT NOT NULL,    -- of the templates the prompt was made from
  fault TEXT NOT NULL,          -- why the answer is no candidate (a refusal, cut off); else empty
  prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL
) STRICT;
)sql",
    R"sql(
CREATE TABLE confirmation (     -- of attempts that were about to be called best
  attempt INTEGER PRIMARY KEY REFERENCES attempt (number),
  verdict TEXT NOT NULL,
  json TEXT NOT NULL            -- an evaluation
) STRICT;
)sql",
};
constexpr int64_t kToday = std::size(kMigrations);

tl::unexpected<Error> OtherVersion(const Database& database, int64_t version) {
  if (version == 0) {
    return Fail(ErrorCode::kUsage,
                database.path() + " holds nothing: the run was stopped before it began.");
  }
  return Fail(
      ErrorCode::kUsage,
      database.path() + " has tables of version " + std::to_string(version) +
          (version > kToday ? ", and this cudaagent knows them up to " + std::to_string(kToday) +
                                  ": use the newer one that wrote it."
                            : ": \"cudaagent optimize --resume\" brings it up to date."));
}

}  // namespace

Result<void> Migrate(Database& database) {
  auto transaction = Transaction::Begin(database);
  if (!transaction) return tl::unexpected(transaction.error());
  auto version = database.Integer("PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  if (*version < 0 || *version > kToday) return OtherVersion(database, *version);
  if (*version == kToday) return {};
  for (int64_t i = *version; i < kToday; ++i) {
    if (auto made = database.Run(kMigrations[i]); !made) return made;
  }
  auto set = database.Run("PRAGMA user_version = " + std::to_string(kToday));
  return set ? transaction->Commit() : set;
}

Result<void> CheckSchema(Database& database) {
  auto version = database.Integer("PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  if (*version != kToday) return OtherVersion(database, *version);
  return {};
}

}  // namespace cudaagent::store

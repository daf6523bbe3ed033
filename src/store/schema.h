// The tables of run.db, and how older ones become today's.
#pragma once

#include "cudaagent/result.h"
#include "store/sqlite.h"

namespace cudaagent::store {

// Brings a database, an empty one too, to today's tables in one transaction. One of a newer
// cudaagent is kUsage, and untouched.
Result<void> Migrate(Database& database);

// For readers: kUsage unless the tables are today's.
Result<void> CheckSchema(Database& database);

}  // namespace cudaagent::store

#include "store/sqlite.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace cudaagent::store {
namespace {

constexpr int kBusyMilliseconds = 5000;  // another process may just be reading or checkpointing

// SQLite does not always keep the errno, so a refused write is taken for want of room.
bool IsRefusedWrite(sqlite3* handle, int code) {
  const int system = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  return (code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_WRITE ||
         code == SQLITE_IOERR_SHMSIZE || system == ENOSPC || system == EDQUOT || system == EFBIG;
}

tl::unexpected<Error> Failed(const std::string& path, sqlite3* handle, int code) {
  if (IsRefusedWrite(handle, code)) {
    return Fail(
        ErrorCode::kEnvironment,
        "Cannot write " + path +
            ": the disk is full, or a size limit is reached. Free some space there; what was "
            "stored before is whole.");
  }
  const int primary = code & 0xFF;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_ERROR) {
    return Fail(ErrorCode::kEnvironment,
                path + " is damaged or no run database (" +
                    (handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code)) + ").");
  }
  const int system = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  std::string why = sqlite3_errstr(code);
  if (system != 0) why += std::string(", ") + std::strerror(system);
  return Fail(ErrorCode::kEnvironment, "Cannot use " + path + ": " + why + ".");
}

// A file in a folder that cannot be written has no room for the log's index; without a log, the
// file alone is the truth.
bool IsFrozen(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0 &&
         ::access((path + "-wal").c_str(), F_OK) != 0;
}

// A path as an SQLite URI.
std::string Uri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '?') {
      uri += "%3f";
    } else if (c == '#') {
      uri += "%23";
    } else if (c == '%') {
      uri += "%25";
    } else {
      uri += c;
    }
  }
  return uri;
}

}  // namespace

void Database::Closer::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void Statement::Finalizer::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

Database::Database(std::string path, std::unique_ptr<sqlite3, Closer> handle)
    : path_(std::move(path)), handle_(std::move(handle)) {}

Result<Database> Database::Open(const std::string& path, Mode mode) {
  const bool writes = mode == Mode::kWrite;
  const int flags = SQLITE_OPEN_URI |
                    (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  const std::string uri = Uri(path) + (!writes && IsFrozen(path) ? "?immutable=1" : "");
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  std::unique_ptr<sqlite3, Closer> owned(handle);
  if (code != SQLITE_OK) return Failed(path, handle, code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  Database database(path, std::move(owned));
  const char* settings = writes ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                                  "PRAGMA foreign_keys = ON"
                                : "PRAGMA query_only = ON";
  if (auto set = database.Run(settings); !set) return tl::unexpected(set.error());
  return database;
}

Result<void> Database::Run(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Failed(path_, handle_.get(), code);
  return {};
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return Failed(path_, handle_.get(), code);
  return Statement(path_, statement);
}

Result<int64_t> Database::Integer(std::string_view sql) {
  auto statement = Prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  auto row = statement->Step();
  if (!row) return tl::unexpected(row.error());
  return *row ? statement->Integer(0) : 0;
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

void Statement::Keep(int code) {
  ++next_;
  if (code != SQLITE_OK && failed_ == SQLITE_OK) failed_ = code;
}

Statement& Statement::Bind(std::string_view text) {
  // A null pointer would bind NULL, which is not the empty text.
  Keep(sqlite3_bind_text64(handle_.get(), next_, text.data() != nullptr ? text.data() : "",
                           text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}
Statement& Statement::Bind(int64_t value) {
  Keep(sqlite3_bind_int64(handle_.get(), next_, value));
  return *this;
}
Statement& Statement::Bind(double value) {
  Keep(sqlite3_bind_double(handle_.get(), next_, value));
  return *this;
}
Statement& Statement::BindNull() {
  Keep(sqlite3_bind_null(handle_.get(), next_));
  return *this;
}

Result<bool> Statement::Step() {
  sqlite3* database = sqlite3_db_handle(handle_.get());
  if (failed_ != SQLITE_OK) return Failed(path_, database, failed_);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Failed(path_, database, code);
}

std::string Statement::Text(int column) const {
  const void* text = sqlite3_column_blob(handle_.get(), column);
  const int bytes = sqlite3_column_bytes(handle_.get(), column);
  return text == nullptr ? "" : std::string(static_cast<const char*>(text), bytes);
}
int64_t Statement::Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
double Statement::Real(int column) const { return sqlite3_column_double(handle_.get(), column); }
bool Statement::IsNull(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

Result<Transaction> Transaction::Begin(Database& database) {
  if (auto begun = database.Run("BEGIN IMMEDIATE"); !begun) return tl::unexpected(begun.error());
  return Transaction(database);
}

Transaction::~Transaction() {
  // A full disk may have taken it back already.
  if (database_ != nullptr && database_->in_transaction()) (void)database_->Run("ROLLBACK");
}

Result<void> Transaction::Commit() {
  auto committed = database_->Run("COMMIT");
  if (committed) database_ = nullptr;
  return committed;
}

}  // namespace cudaagent::store

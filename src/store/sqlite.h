// SQLite, owned: a database, a statement, a transaction. Every Error names the file; a full disk is
// kEnvironment and says so. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cudaagent/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cudaagent::store {

class Statement;

class Database {
 public:
  enum class Mode { kRead, kWrite };  // kWrite makes the file where there is none

  // kWrite: write-ahead log, and a commit is on the disk when it returns. kRead works beside a
  // writer, and in a folder that cannot be written.
  static Result<Database> Open(const std::string& path, Mode mode);

  // One or more statements without parameters and rows.
  Result<void> Run(const std::string& sql);
  // A statement that cannot be prepared (a table is missing) is a damaged database.
  Result<Statement> Prepare(std::string_view sql);
  // The one integer that `sql` gives.
  Result<int64_t> Integer(std::string_view sql);
  bool in_transaction() const;
  const std::string& path() const { return path_; }

  struct Closer {
    void operator()(sqlite3* handle) const;
  };

 private:
  Database(std::string path, std::unique_ptr<sqlite3, Closer> handle);

  std::string path_;
  std::unique_ptr<sqlite3, Closer> handle_;
};

class Statement {
 public:
  // Values for the parameters, from left to right. Text may hold any bytes. What goes wrong here is
  // told by Step().
  Statement& Bind(std::string_view text);
  Statement& Bind(int64_t value);
  Statement& Bind(double value);
  Statement& BindNull();

  // True: there is a row to read; false: done.
  Result<bool> Step();

  // Columns of the row, from 0.
  std::string Text(int column) const;
  int64_t Integer(int column) const;
  double Real(int column) const;
  bool IsNull(int column) const;

  struct Finalizer {
    void operator()(sqlite3_stmt* handle) const;
  };

 private:
  friend class Database;
  Statement(std::string path, sqlite3_stmt* handle) : path_(std::move(path)), handle_(handle) {}
  void Keep(int code);

  std::string path_;
  std::unique_ptr<sqlite3_stmt, Finalizer> handle_;
  int next_ = 1;
  int failed_ = 0;
};

// Taken back at destruction unless committed.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace cudaagent::store

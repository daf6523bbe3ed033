#include "store/sqlite.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/run_database.h"
#include "store/schema.h"
#include "util/file.h"

namespace cudaagent::store {
namespace {

class SqliteTest : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("sqlite");
    ASSERT_TRUE(temp);
    temp_ = std::move(*temp);
    path_ = temp_.path() + "/50% #1?.db";
  }
  Database Open(Database::Mode mode = Database::Mode::kWrite) {
    auto database = Database::Open(path_, mode);
    if (!database) throw std::runtime_error(database.error().message);
    return std::move(*database);
  }
  util::TempDir temp_;
  std::string path_;
};

TEST_F(SqliteTest, AnyBytesComeBackAsTheyWereBound) {
  Database database = Open();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a TEXT, b INTEGER, c REAL, d TEXT, e TEXT) STRICT"));
  const std::string bytes("nul \0 and \xff\n", 12);
  auto insert = database.Prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)");
  ASSERT_TRUE(insert);
  insert->Bind(bytes).Bind(int64_t{1} << 62).Bind(0.1).BindNull().Bind(std::string_view());
  ASSERT_TRUE(insert->Step());
  auto select = database.Prepare("SELECT * FROM t");
  ASSERT_TRUE(select && select->Step().value_or(false));
  EXPECT_EQ(select->Text(0), bytes);
  EXPECT_EQ(select->Integer(1), int64_t{1} << 62);
  EXPECT_EQ(select->Real(2), 0.1);
  EXPECT_TRUE(select->IsNull(3));
  EXPECT_FALSE(select->IsNull(4));
  EXPECT_EQ(select->Text(4), "");
  EXPECT_TRUE(util::ReadFile(path_));  // the name is what was asked for
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedLeavesNothing) {
  Database database = Open();
  ASSERT_TRUE(database.Run("CREATE TABLE t (a)"));
  {
    auto transaction = Transaction::Begin(database);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(database.Run("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(database.Integer("SELECT count(*) FROM t").value(), 0);
  {
    auto transaction = Transaction::Begin(database);
    ASSERT_TRUE(database.Run("INSERT INTO t VALUES (1)"));
    ASSERT_TRUE(transaction->Commit());
  }
  EXPECT_EQ(database.Integer("SELECT count(*) FROM t").value(), 1);
}

TEST_F(SqliteTest, AReaderWorksBesideAWriterAndInAFolderThatCannotBeWritten) {
  {
    Database writer = Open();
    ASSERT_TRUE(writer.Run("CREATE TABLE t (a); INSERT INTO t VALUES (7)"));
    EXPECT_EQ(Open(Database::Mode::kRead).Integer("SELECT a FROM t").value(), 7);
    EXPECT_FALSE(Open(Database::Mode::kRead).Run("DELETE FROM t"));
  }
  if (geteuid() == 0) return;  // root may write anywhere
  chmod(temp_.path().c_str(), 0555);
  EXPECT_EQ(Open(Database::Mode::kRead).Integer("SELECT a FROM t").value(), 7);
  chmod(temp_.path().c_str(), 0755);
}

TEST_F(SqliteTest, AFileThatIsNoDatabaseIsOneClearError) {
  ASSERT_TRUE(util::WriteFileAtomic(path_, std::string(5000, 'x')));
  auto run = RunDatabase::OpenToRead(path_);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(run.error().message.find("no run database"), std::string::npos) << run.error().message;
  EXPECT_FALSE(RunDatabase::OpenToWrite(path_));
}

TEST_F(SqliteTest, ADatabaseOfANewerCudaagentIsRefusedAndUntouched) {
  {
    Database database = Open();
    ASSERT_TRUE(database.Run("PRAGMA user_version = 999"));
  }
  for (auto open : {RunDatabase::OpenToWrite, RunDatabase::OpenToRead}) {
    auto run = open(path_);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, ErrorCode::kUsage);
    EXPECT_NE(run.error().message.find("use the newer one"), std::string::npos)
        << run.error().message;
  }
  EXPECT_EQ(Open().Integer("SELECT count(*) FROM sqlite_schema").value(), 0);
}

TEST_F(SqliteTest, TablesOfTheFirstVersionBecomeTodays) {
  Database database = Open();
  ASSERT_TRUE(Migrate(database));
  ASSERT_TRUE(database.Run("DROP TABLE confirmation; PRAGMA user_version = 1"));
  EXPECT_FALSE(CheckSchema(database));
  ASSERT_TRUE(Migrate(database));
  EXPECT_TRUE(CheckSchema(database));
  EXPECT_EQ(database.Integer("SELECT count(*) FROM confirmation").value(), 0);
}

TEST_F(SqliteTest, MigratingTwiceChangesNothing) {
  Database database = Open();
  ASSERT_TRUE(Migrate(database));
  ASSERT_TRUE(Migrate(database));
  EXPECT_TRUE(CheckSchema(database));
}

}  // namespace
}  // namespace cudaagent::store

#include <gtest/gtest.h>

#include "config/settings_file.h"
#include "config/trust.h"
#include "util/file.h"

namespace cudaagent::config {
namespace {

TEST(SettingsFileTest, ValuesKeepTheirTypeTextAndLine) {
  auto file = ParseSettings("a = \"x\\ny\"\n\nb = -3\nc = 0.1\nd = true\n", "f");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->values.size(), 4u);
  EXPECT_EQ(file->values[0].text, "x\ny");
  EXPECT_EQ(file->values[1].line, 3);
  EXPECT_EQ(file->values[1].kind, ValueKind::kInteger);
  EXPECT_EQ(file->values[2].text, "0.1");
  EXPECT_EQ(file->values[2].kind, ValueKind::kNumber);
  EXPECT_EQ(file->values[3].text, "true");
  EXPECT_EQ(file->hash.size(), 64u);
}

TEST(SettingsFileTest, WhatIsNoTomlNamesFileAndLine) {
  for (const char* text : {"a = 1\nb = = 2", "a = 1\n\x01", "a = 1\nb = \"\xff\""}) {
    auto file = ParseSettings(text, "dir/f.toml");
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code, ErrorCode::kUsage);
    EXPECT_EQ(file.error().message.rfind("dir/f.toml:2: ", 0), 0u) << file.error().message;
  }
}

TEST(SettingsFileTest, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_FALSE(ParseSettings("a = " + std::string(100000, '['), "f"));
  std::string table = "a = ";
  for (int i = 0; i < 100000; ++i) table += "{b=";
  EXPECT_FALSE(ParseSettings(table, "f"));
  std::string dotted = "a";
  for (int i = 0; i < 60000; ++i) dotted += ".a";
  auto key = ParseSettings("x = 1\n" + dotted + " = 1", "f");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().message, "f:2: a key of far too many parts; no setting has more than one.");
  EXPECT_FALSE(ParseSettings("[" + dotted + "]", "f"));
  EXPECT_TRUE(ParseSettings("x = \"" + std::string(200, '.') + "\"", "f"))
      << "dots in a text are fine";
}

TEST(SettingsFileTest, AQuotedTextReadsBack) {
  const std::string text = "a \"quote\" \\ \n\t\x01\x7f caf\xc3\xa9";
  auto file = ParseSettings("x = " + Quote(text), "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->values[0].text, text);
}

class TrustTest : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("trust");
    ASSERT_TRUE(temp);
    temp_ = std::move(*temp);
    ::setenv("XDG_STATE_HOME", temp_.path().c_str(), 1);
  }
  util::TempDir temp_;
};

TEST_F(TrustTest, TheListOutlivesTheProcess) {
  const std::string hash(64, 'a');
  ASSERT_TRUE(TrustList::Load().Add("/p/with space", hash));
  EXPECT_EQ(TrustList::Load().Of("/p/with space", hash), Trust::kTrusted);
  EXPECT_EQ(TrustList::Load().Of("/p/with space", std::string(64, 'b')), Trust::kChanged);
  EXPECT_EQ(TrustList::Load().Of("/p", hash), Trust::kUnknown);
  auto list = TrustList::Load();
  EXPECT_TRUE(*list.Remove("/p/with space"));
  EXPECT_FALSE(*list.Remove("/p/with space"));
  EXPECT_EQ(TrustList::Load().Of("/p/with space", hash), Trust::kUnknown);
}

TEST_F(TrustTest, ADamagedListIsNoTrust) {
  ASSERT_TRUE(util::MakeDirs(temp_.path() + "/cudaagent"));
  ASSERT_TRUE(util::WriteFileAtomic(TrustList::Load().file(), "\n\xff\nshort\n"));
  EXPECT_EQ(TrustList::Load().Of("short", ""), Trust::kUnknown);
}

}  // namespace
}  // namespace cudaagent::config

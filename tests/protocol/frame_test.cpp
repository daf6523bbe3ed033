#include "protocol/frame.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string>
#include <thread>

#include "util/fd.h"
#include "util/time.h"

namespace cudaagent::protocol {
namespace {

class FrameTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    here_.reset(ends[0]);
    there_.reset(ends[1]);
  }
  void Raw(const std::string& bytes) {
    ASSERT_EQ(::send(there_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  ReadResult Read(double seconds = 10) {
    return ReadFrame(here_.get(), util::Deadline::After(seconds).at());
  }
  util::UniqueFd here_, there_;
};

TEST_F(FrameTest, CarriesPayloadsOfEverySizeInOrder) {
  std::thread writer([&] {
    for (size_t size : {size_t{0}, size_t{1}, size_t{300}, size_t{5} << 20}) {
      EXPECT_TRUE(WriteFrame(there_.get(), std::string(size, 'x')));
    }
    there_.reset();
  });
  for (size_t size : {size_t{0}, size_t{1}, size_t{300}, size_t{5} << 20}) {
    const ReadResult frame = Read();
    EXPECT_EQ(frame.status, ReadStatus::kFrame);
    EXPECT_EQ(frame.payload.size(), size);
  }
  EXPECT_EQ(Read().status, ReadStatus::kEof);
  writer.join();
}

TEST_F(FrameTest, TheLengthIsFourBytesLittleEndian) {
  Raw(std::string("\x02\0\0\0{}", 6));
  EXPECT_EQ(Read().payload, "{}");
  ASSERT_TRUE(WriteFrame(there_.get(), std::string(258, 'x')));
  unsigned char header[4];
  ASSERT_EQ(::recv(here_.get(), header, 4, MSG_WAITALL), 4);
  EXPECT_EQ(header[0], 2);
  EXPECT_EQ(header[1], 1);
  EXPECT_EQ(header[2], 0);
  EXPECT_EQ(header[3], 0);
}

TEST_F(FrameTest, AnEndInsideALengthIsBroken) {
  Raw("\x02");
  there_.reset();
  EXPECT_EQ(Read().status, ReadStatus::kBroken);
}

TEST_F(FrameTest, AnEndInsideAPayloadIsBrokenAndCounted) {
  Raw(std::string("\x0a\0\0\0abc", 7));
  there_.reset();
  const ReadResult frame = Read();
  EXPECT_EQ(frame.status, ReadStatus::kBroken);
  EXPECT_EQ(frame.problem, "the stream ended after 3 of 10 bytes");
}

TEST_F(FrameTest, ALengthAboveTheCapIsBrokenBeforeAnythingIsRead) {
  Raw(std::string("\x01\0\0\x04", 4));  // 64 MiB + 1
  EXPECT_EQ(Read().status, ReadStatus::kBroken);
}

TEST_F(FrameTest, ADeadlineEndsTheWaitForALateFrameAndForHalfAFrame) {
  EXPECT_EQ(Read(0.05).status, ReadStatus::kTimedOut);
  Raw(std::string("\x0a\0\0\0abc", 7));
  EXPECT_EQ(Read(0.05).status, ReadStatus::kTimedOut);
}

TEST_F(FrameTest, WritingToAClosedSocketIsAnErrorAndNoSignal) {
  here_.reset();
  EXPECT_FALSE(WriteFrame(there_.get(), "x"));
}

TEST_F(FrameTest, ASendTimeoutEndsAWriteThatNobodyReads) {
  const timeval limit{0, 50'000};
  ::setsockopt(there_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  EXPECT_FALSE(WriteFrame(there_.get(), std::string(32u << 20, 'x')));
}

TEST_F(FrameTest, APayloadAboveTheCapIsRefusedByTheWriter) {
  EXPECT_FALSE(WriteFrame(there_.get(), std::string(kMaxFrameBytes + 1, 'x')));
}

}  // namespace
}  // namespace cudaagent::protocol

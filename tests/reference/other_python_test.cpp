#include "reference/other_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "util/file.h"

namespace cudaagent::reference {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// An "interpreter": a shell script with this body.
std::string FakePython(const util::TempDir& folder, const std::string& body) {
  std::string path = folder.path() + "/python";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  chmod(path.c_str(), 0755);
  return path;
}

std::string MessageFor(const std::string& body) {
  util::TempDir folder = util::TempDir::Create("fake-python").value();
  auto result = CheckSamePython(FakePython(folder, body));
  if (result) return "";
  EXPECT_EQ(result.error().code, ErrorCode::kEnvironment);
  return result.error().message;
}

TEST(OtherPythonTest, AcceptsTheOneTheWorkerWasBuiltFor) {
  auto result = CheckSamePython(CUDAAGENT_PYTHON);
  EXPECT_TRUE(result) << result.error().message;
}

TEST(OtherPythonTest, NamesBothVersionsOfAnotherOne) {
  std::string message = MessageFor("echo 'cudaagent: 2.7 1.0.0' >&2");
  EXPECT_THAT(message, StartsWith("The worker was built for Python 3."));
  EXPECT_THAT(message,
              HasSubstr("with torch " CUDAAGENT_TORCH_VERSION " (" CUDAAGENT_PYTHON "), but "));
  EXPECT_THAT(message, HasSubstr("/python has Python 2.7 with torch 1.0.0. Rebuild the worker with "
                                 "-DCUDAAGENT_PYTHON="));
  EXPECT_THAT(MessageFor("echo 'cudaagent: 2.7 no torch'"),
              HasSubstr("2.7 with no torch. Rebuild"));
}

TEST(OtherPythonTest, SaysHowAnInterpreterFailed) {
  EXPECT_THAT(MessageFor("echo oh dear; exit 3"),
              HasSubstr("is not a Python that answers. It exited with status 3: oh dear"));
  auto missing = CheckSamePython("/nowhere/python");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              StartsWith("CUDAAGENT_PYTHON=/nowhere/python is not a Python that answers. "));
}

}  // namespace
}  // namespace cudaagent::reference

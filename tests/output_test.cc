// Output that cannot be written or is not read, as processes.
#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::vector<std::string>> CommandsThatPrint() {
  const std::string source =
      absl::StrCat("--gpu-source=file:", WriteTestFile("gpus.json", R"({"gpus": []})"));
  return {{"--help"},       {"--version"},
          {"man"},          {"reference"},
          {"demo"},         {"completion", "bash"},
          {"gpus", source}, {"gpus", source, "--interval=20ms"},
          {"serve", "-h"},  {"gpus", source, "--dry-run"},
          {"version"}};
}

TEST(Output, FailedWritesExit5WithAnError) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  for (const std::vector<std::string>& args : CommandsThatPrint()) {
    Process process(args, {}, "", full);
    EXPECT_EQ(process.Wait(), 5) << args.front();
    EXPECT_THAT(process.Err(), HasSubstr("standard output cannot be written")) << args.front();
  }
  close(full);
}

TEST(Output, AClosedPipeIsNoError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  for (const std::vector<std::string>& args : CommandsThatPrint()) {
    Process process(args, {}, "", ends[1]);
    EXPECT_EQ(process.Wait(), 0) << args.front();
    EXPECT_THAT(process.Err(), Not(HasSubstr("cannot be written"))) << args.front();
  }
  close(ends[1]);
}

}  // namespace
}  // namespace gpuscaler

#include "wire/protobuf_log.h"

#include <google/protobuf/stubs/logging.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST(ProtobufLog, ClientsThatCauseItsErrorsFillNoDisk) {
  TakeOverProtobufLog();
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) GOOGLE_LOG(ERROR) << "cannot parse message " << i;
  const std::string log = testing::internal::GetCapturedStderr();
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
  EXPECT_GE(lines.size(), 1u);
  EXPECT_LE(lines.size(), 10u) << "in 10 s";
  EXPECT_THAT(lines, Each(AllOf(HasSubstr("level=warn event=protobuf message=\"cannot parse"),
                                HasSubstr("file=protobuf_log_test.cc"))));
}

}  // namespace
}  // namespace gpuscaler

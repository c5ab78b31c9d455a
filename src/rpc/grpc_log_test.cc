#include "rpc/grpc_log.h"

#include <grpc/support/log.h>

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

TEST(GrpcLog, ClientsThatCauseItsErrorsFillNoDisk) {
  TakeOverGrpcLog();
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as grpc_init() does
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) gpr_log(GPR_ERROR, "handshake failed with client %d", i);
  const std::string log = testing::internal::GetCapturedStderr();
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
  EXPECT_GE(lines.size(), 1u);
  EXPECT_LE(lines.size(), 10u) << "in 10 s";
  EXPECT_THAT(lines, Each(AllOf(HasSubstr("level=warn event=grpc message=\"handshake failed"),
                                HasSubstr("file=grpc_log_test.cc"))));
}

}  // namespace
}  // namespace gpuscaler

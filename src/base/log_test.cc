#include "base/log.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Log, TextLineIsKeyValuePairs) {
  EXPECT_EQ(
      FormatLogLine(LogFormat::kText, "T", LogLevel::kWarn, "snapshot_stale",
                    {{"node", "gpu-7"}, {"age_seconds", 12.4}, {"partial", true}, {"gpus", 8}}),
      "T level=warn event=snapshot_stale node=gpu-7 age_seconds=12.4 partial=true gpus=8");
}

TEST(Log, TextValueWithSpacesOrQuotesIsQuoted) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "T", LogLevel::kInfo, "e", {{"why", "a \"b\"\nc"}}),
            R"(T level=info event=e why="a \"b\"\nc")");
}

TEST(Log, JsonLineIsOneObject) {
  EXPECT_EQ(
      FormatLogLine(LogFormat::kJson, "T", LogLevel::kError, "e", {{"why", "a\"b"}, {"n", 1}}),
      R"({"time":"T","level":"error","event":"e","why":"a\"b","n":1})");
}

TEST(Log, GarbageBytesAreReplacedAndNotFatal) {
  EXPECT_NE(FormatLogLine(LogFormat::kJson, "T", LogLevel::kInfo, "e", {{"why", "\xff\xfe"}}), "");
}

}  // namespace
}  // namespace gpuscaler

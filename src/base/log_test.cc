#include "base/log.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

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

TEST(Log, TextLineHasNoControlCharacters) {
  EXPECT_EQ(FormatLogLine(
                LogFormat::kText, "T", LogLevel::kInfo, "e",
                {{"pod", "a\xc2\x9b\xe2\x80\xae\x7f"}, {"why", "\n::error::\x1b[2J\xe2\x80\xa8"}}),
            R"(T level=info event=e pod=a\u009b\u202e\x7f why="\n::error::\u001b[2J\u2028")");
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "T", LogLevel::kInfo, "e", {{"model", "\xe9\x80\x9a"}}),
            "T level=info event=e model=\xe9\x80\x9a");
}

TEST(Log, JsonLineEscapesAsJsonDoes) {
  const std::string why = "\r\n::error::\x1b[2J\xe2\x80\xa8";
  const std::string line =
      FormatLogLine(LogFormat::kJson, "T", LogLevel::kInfo, "e", {{"why", why}});
  EXPECT_EQ(line.find_first_of("\r\n\x1b"), std::string::npos) << line;
  EXPECT_EQ(nlohmann::json::parse(line)["why"], why);
}

TEST(Log, JsonLineIsOneObject) {
  EXPECT_EQ(
      FormatLogLine(LogFormat::kJson, "T", LogLevel::kError, "e", {{"why", "a\"b"}, {"n", 1}}),
      R"({"time":"T","level":"error","event":"e","why":"a\"b","n":1})");
}

TEST(Log, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_NE(FormatLogLine(LogFormat::kJson, "T", LogLevel::kInfo, "e", {{"why", "\xff\xfe"}}), "");
}

}  // namespace
}  // namespace gpuscaler

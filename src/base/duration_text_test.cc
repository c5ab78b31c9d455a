#include "base/duration_text.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ParseDuration, ReadsNumbersWithUnits) {
  EXPECT_EQ(*ParseDuration("500ms"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseDuration("2m"), absl::Minutes(2));
  EXPECT_EQ(*ParseDuration("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("0"), absl::ZeroDuration());
}

TEST(ParseDuration, RefusesOtherTexts) {
  for (const char* text : {"", "30", "-1s", "inf", "-inf", "nan", "1e999s", "30 parsecs", "s"}) {
    const auto parsed = ParseDuration(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(parsed.status().message().find("500ms, 30s or 2m"), std::string::npos) << text;
  }
}

TEST(DurationText, ReadsBackAsTheSame) {
  for (absl::Duration duration :
       {absl::Milliseconds(1500), absl::Seconds(90), absl::Hours(3), absl::ZeroDuration()}) {
    EXPECT_EQ(*ParseDuration(DurationText(duration)), duration);
  }
}

TEST(AgeText, HasWholeSecondsOrMilliseconds) {
  EXPECT_EQ(AgeText(absl::Seconds(62.274867596)), "1m2s");
  EXPECT_EQ(AgeText(absl::Milliseconds(250.7)), "250ms");
  EXPECT_EQ(AgeText(absl::ZeroDuration()), "0");
}

}  // namespace
}  // namespace gpuscaler

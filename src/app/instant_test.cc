#include "app/instant.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// An hour east of UTC.
absl::TimeZone Zone() { return absl::FixedTimeZone(3600); }

absl::Time Now() { return absl::FromCivil(absl::CivilSecond(2026, 3, 2, 1, 30, 0), Zone()); }

TEST(ParseInstant, AcceptsTimesOfDayAgesAndRfc3339) {
  struct Case {
    std::string text;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"01:12", "2026-03-02 01:12:00 +01:00"},
      {"01:12:05", "2026-03-02 01:12:05 +01:00"},
      {"1:30", "2026-03-02 01:30:00 +01:00"},
      {"23:50", "2026-03-01 23:50:00 +01:00"},  // the last one before now
      {"10m", "2026-03-02 01:20:00 +01:00"},
      {"1h30m", "2026-03-02 00:00:00 +01:00"},
      {"2026-03-01T22:00:00Z", "2026-03-01 23:00:00 +01:00"},
      {"2026-03-01T22:00:00+02:00", "2026-03-01 21:00:00 +01:00"},
  };
  for (const Case& test : cases) {
    const auto instant = ParseInstant(test.text, Now(), Zone());
    ASSERT_TRUE(instant.ok()) << instant.status();
    EXPECT_EQ(InstantText(*instant, Zone()), test.want) << test.text;
  }
}

TEST(ParseInstant, RefusesOtherTextsAndTheFuture) {
  for (const char* text : {"", "yesterday", "25:00", "3:12pm", "-10m", "2026-03-01 22:00:00"}) {
    const auto instant = ParseInstant(text, Now(), Zone());
    EXPECT_EQ(instant.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(instant.status().message()), HasSubstr("use 15:04, 10m")) << text;
  }
  const auto future = ParseInstant("2026-03-03T00:00:00Z", Now(), Zone());
  EXPECT_THAT(std::string(future.status().message()),
              HasSubstr("after the scaler's time, 2026-03-02 01:30:00 +01:00"));
}

}  // namespace
}  // namespace gpuscaler

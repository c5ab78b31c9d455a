#include "web/web_query.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Optional;

const absl::Time kQueriedAt = absl::FromUnixSeconds(1'767'225'600);

WebRequest With(const std::string& name, const std::string& value) {
  return {.path = "/", .query = {{name, value}}};
}

TEST(WebQuery, MissingParametersAreEmpty) {
  const WebRequest request{.path = "/", .query = {}};
  EXPECT_EQ(NumberParameter(request, "target", 0, 1)->has_value(), false);
  EXPECT_EQ(CountParameter(request, "min", 0, 1)->has_value(), false);
  EXPECT_EQ(TimeParameter(request, "at")->has_value(), false);
}

TEST(WebQuery, NumbersAreCheckedAndNamed) {
  EXPECT_THAT(*NumberParameter(With("target", "0.5"), "target", 0, 1), Optional(0.5));
  for (const char* value : {"", "x", "nan", "inf", "1.1", "-1", "0x1", " 1", "1e999"}) {
    const auto number = NumberParameter(With("target", value), "target", 0, 1);
    EXPECT_EQ(number.status().code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(number.status().message(), HasSubstr("use a number from 0 to 1"));
  }
  EXPECT_THAT(*CountParameter(With("min", "3"), "min", 0, 9), Optional(3));
  EXPECT_FALSE(CountParameter(With("min", "2.5"), "min", 0, 9).ok());
  EXPECT_FALSE(CountParameter(With("min", "10"), "min", 0, 9).ok());
}

TEST(WebQuery, TimesAreSecondsWithFractions) {
  EXPECT_THAT(*TimeParameter(With("at", "1767225600.5"), "at"),
              Optional(kQueriedAt + absl::Milliseconds(500)));
  for (const char* value : {"-1", "2026-01-01", "1e300"}) {
    EXPECT_THAT(TimeParameter(With("at", value), "at").status().message(),
                HasSubstr("use seconds since 1970"));
  }
}

TEST(WebQuery, RangeIsTheLastHourUnlessGiven) {
  const auto usual = TimeRangeOf({.path = "/", .query = {}}, kQueriedAt);
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_EQ(usual->to, kQueriedAt);
  EXPECT_EQ(usual->from, kQueriedAt - absl::Hours(1));
  const auto future = TimeRangeOf(With("to", "1800000000"), kQueriedAt);
  ASSERT_TRUE(future.ok()) << future.status();
  EXPECT_EQ(future->to, kQueriedAt);
  EXPECT_FALSE(TimeRangeOf(With("from", "1800000000"), kQueriedAt).ok());
}

}  // namespace
}  // namespace gpuscaler

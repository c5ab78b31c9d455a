#include "wire/grpc_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::Eq;
using testing::Optional;

TEST(GrpcTimeout, IsReadInAllUnits) {
  EXPECT_THAT(ParseGrpcTimeout("2H"), Optional(absl::Hours(2)));
  EXPECT_THAT(ParseGrpcTimeout("3M"), Optional(absl::Minutes(3)));
  EXPECT_THAT(ParseGrpcTimeout("99999999S"), Optional(absl::Seconds(99'999'999)));
  EXPECT_THAT(ParseGrpcTimeout("0m"), Optional(absl::ZeroDuration()));
  EXPECT_THAT(ParseGrpcTimeout("7u"), Optional(absl::Microseconds(7)));
  EXPECT_THAT(ParseGrpcTimeout("7n"), Optional(absl::Nanoseconds(7)));
}

TEST(GrpcTimeout, IsRefusedIfItIsNone) {
  for (const char* text : {"", "S", "1", "123456789S", "-1S", "1.5S", "1s", "1 S", "+1S"}) {
    EXPECT_THAT(ParseGrpcTimeout(text), Eq(std::nullopt)) << text;
  }
}

TEST(GrpcTimeout, IsWrittenInTheFinestUnitThatFits) {
  EXPECT_EQ(GrpcTimeout(absl::Milliseconds(50)), "50000000n");
  EXPECT_EQ(GrpcTimeout(absl::Seconds(2)), "2000000u");
  EXPECT_EQ(GrpcTimeout(absl::Hours(30)), "108000S") << "in ms it has 9 digits";
  EXPECT_EQ(GrpcTimeout(-absl::Seconds(1)), "0n");
  EXPECT_EQ(GrpcTimeout(absl::InfiniteDuration()), "99999999H");
}

TEST(PercentEncoding, KeepsPrintableAscii) {
  EXPECT_EQ(PercentEncoded("a b~!"), "a b~!");
  EXPECT_EQ(PercentEncoded("100 %\n\xC3\xA4"), "100 %25%0A%C3%A4");
  EXPECT_EQ(PercentDecoded("100 %25%0A%c3%A4"), "100 %\n\xC3\xA4");
  EXPECT_EQ(PercentDecoded("%"), "%");
  EXPECT_EQ(PercentDecoded("%4"), "%4");
  EXPECT_EQ(PercentDecoded("%4z%41"), "%4zA");
}

TEST(StatusOfTrailers, HasATextAndAKnownCode) {
  EXPECT_EQ(StatusOfTrailers("0", ""), absl::OkStatus());
  EXPECT_EQ(StatusOfTrailers("14", "gone%21"), absl::UnavailableError("gone!"));
  EXPECT_EQ(StatusOfTrailers("99", "x").code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(StatusOfTrailers("", "x").code(), absl::StatusCode::kUnknown);
  EXPECT_FALSE(StatusOfTrailers("5", "").message().empty());
}

TEST(StatusOfHttp, FollowsGrpcsMapping) {
  EXPECT_EQ(StatusOfHttp(404).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(StatusOfHttp(503).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(StatusOfHttp(418).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace gpuscaler

#include "app/version.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AnyOf;
using testing::MatchesRegex;

TEST(VersionText, HasTheCommitAndItsDateIfTheyAreKnown) {
  EXPECT_EQ(VersionText("scaler", {.hash = "1a2b3c4d5e6f", .date = "2026-11-28"}),
            "scaler " GPUSCALER_VERSION " (commit 1a2b3c4d5e6f, 2026-11-28)");
  EXPECT_EQ(VersionText("scaler", {.hash = "1a2b3c4d5e6f"}),
            "scaler " GPUSCALER_VERSION " (commit 1a2b3c4d5e6f)");
  EXPECT_EQ(VersionText("scaler", {}), "scaler " GPUSCALER_VERSION);
}

TEST(VersionText, OfThisBuildHasAWholeCommitOrNone) {
  const std::string text = VersionText("scaler").substr(VersionText("scaler", {}).size());
  EXPECT_THAT(
      text,
      AnyOf("", MatchesRegex(R"( \(commit [0-9a-f]{7,12}(, [0-9]{4}-[0-9]{2}-[0-9]{2})?\))")));
}

}  // namespace
}  // namespace gpuscaler

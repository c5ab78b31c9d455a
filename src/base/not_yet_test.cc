#include "base/not_yet.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(NotYet, IsUnavailableAndDiffersFromAFailureWithTheSameMessage) {
  const absl::Status not_yet = NotYet("not resolved");
  EXPECT_EQ(not_yet.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(not_yet.message(), "not resolved");
  EXPECT_TRUE(IsNotYet(not_yet));
  EXPECT_FALSE(IsNotYet(absl::UnavailableError("not resolved")));
  EXPECT_NE(not_yet, absl::UnavailableError("not resolved")) << "a change from one to the other";
  EXPECT_FALSE(IsNotYet(absl::OkStatus()));
}

}  // namespace
}  // namespace gpuscaler

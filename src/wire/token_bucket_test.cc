#include "wire/token_bucket.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(TokenBucketTest, FillsToItsSize) {
  const absl::Time begin = absl::UnixEpoch();
  TokenBucket bucket(10, 1);
  EXPECT_TRUE(bucket.Take(begin, 10));
  EXPECT_FALSE(bucket.Take(begin + absl::Seconds(3), 4));
  EXPECT_TRUE(bucket.Take(begin + absl::Seconds(4), 4));
  EXPECT_TRUE(bucket.IsFull(begin + absl::Seconds(14)));
  EXPECT_FALSE(bucket.Take(begin + absl::Hours(1), 11));
}

TEST(TokenBucketTest, RefundOfAFullBucketPaysALaterCharge) {
  const absl::Time begin = absl::UnixEpoch();
  TokenBucket bucket(10, 1);
  bucket.Charge(begin, -20);
  EXPECT_FALSE(bucket.IsOverdrawn(begin + absl::Seconds(1)));
  bucket.Charge(begin + absl::Seconds(1), 25);
  EXPECT_FALSE(bucket.IsOverdrawn(begin + absl::Seconds(1)));
  bucket.Charge(begin + absl::Seconds(1), 6);
  EXPECT_TRUE(bucket.IsOverdrawn(begin + absl::Seconds(1)));
}

}  // namespace
}  // namespace gpuscaler

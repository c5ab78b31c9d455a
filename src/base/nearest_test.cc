#include "base/nearest.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const std::vector<absl::string_view> kKeys = {"profile", "targetValue", "aggregation", "gpuIndex"};

TEST(Nearest, FindsTheTypo) {
  EXPECT_EQ(Nearest("targetvalue", kKeys), "targetValue");
  EXPECT_EQ(Nearest("agregation", kKeys), "aggregation");
  EXPECT_EQ(Nearest("gpuIdx", kKeys), "gpuIndex");
}

TEST(Nearest, PrefixOfOneWordFindsThatWord) {
  EXPECT_EQ(Nearest("prof", kKeys), "profile");
  EXPECT_EQ(Nearest("target", kKeys), "targetValue");
  EXPECT_EQ(Nearest("vllm", {"vllm-inference", "vllm-queue"}), "") << "it may be either";
}

TEST(Nearest, IsEmptyWhenNoWordIsNear) {
  EXPECT_EQ(Nearest("zzz", kKeys), "");
  EXPECT_EQ(Nearest("", kKeys), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'a'), kKeys), "");
}

TEST(NearestFew, ReturnsTheNearestFirst) {
  EXPECT_THAT(NearestFew("gpuIdx", kKeys, 2), testing::ElementsAre("gpuIndex", "profile"));
  EXPECT_THAT(NearestFew("gpuIdx", kKeys, 9), testing::SizeIs(4));
  EXPECT_THAT(NearestFew(std::string(100'000, 'a'), kKeys, 1), testing::SizeIs(1));
}

TEST(DidYouMean, IsReadyToAppend) {
  EXPECT_EQ(DidYouMean("profil", kKeys), "; did you mean \"profile\"?");
  EXPECT_EQ(DidYouMean("zzz", kKeys), "");
}

}  // namespace
}  // namespace gpuscaler

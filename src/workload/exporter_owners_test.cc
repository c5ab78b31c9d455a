#include "workload/exporter_owners.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using State = Attribution::State;

class ExporterOwnersTest : public testing::Test {
 protected:
  // Advances the clock by `after`. The node has one GPU.
  NodeSnapshot Next(absl::Duration after, const std::string& pod, double utilization = 0) {
    clock_.Advance(after);
    NodeSnapshot snapshot = {.taken_at = clock_.Now()};
    snapshot.gpus.push_back({.uuid = "GPU-a", .utilization_percent = utilization});
    if (!pod.empty()) {
      snapshot.pods.push_back({.namespace_name = "shop", .name = pod});
      snapshot.gpus[0].holders.push_back({.pod = 0, .container = "main"});
    }
    owners_.Annotate(snapshot);
    return snapshot;
  }

  FakeClock clock_;
  ExporterOwners owners_;
};

TEST_F(ExporterOwnersTest, PodsHaveTheOwnersOfTheirNames) {
  const NodeSnapshot snapshot = Next(absl::Seconds(1), "web-6d4cf56db6-x7k2p", 90);
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(OwnerNames(snapshot.pods[0]), testing::ElementsAre("web"));
  EXPECT_EQ(snapshot.pods[0].owners_from, Pod::OwnersFrom::kName);
}

TEST_F(ExporterOwnersTest, BusyGpusWithoutPodsAreUnknownAndNeverFree) {
  const NodeSnapshot busy = Next(absl::Seconds(1), "", 90);
  EXPECT_EQ(busy.attribution.state, State::kUnknown);
  EXPECT_THAT(busy.attribution.why, testing::HasSubstr("dcgm-exporter without --kubernetes"));
  EXPECT_EQ(Next(absl::Minutes(10), "", 90).attribution.state, State::kUnknown);
  EXPECT_EQ(Next(absl::Seconds(1), "web-0", 90).attribution.state, State::kKnown);
}

TEST_F(ExporterOwnersTest, IdleNodeIsFreeAtOnce) {
  EXPECT_EQ(Next(absl::Seconds(1), "").attribution.state, State::kKnown);
}

TEST_F(ExporterOwnersTest, EmptyListAfterPodsIsAcceptedAfterTwoReadingsAnd15Seconds) {
  Next(absl::Seconds(1), "web-0");
  EXPECT_EQ(Next(absl::Seconds(30), "").attribution.state, State::kUnknown);
  EXPECT_EQ(Next(absl::Seconds(14), "").attribution.state, State::kUnknown);
  EXPECT_EQ(Next(absl::Seconds(1), "").attribution.state, State::kKnown);
  EXPECT_EQ(Next(absl::Seconds(1), "").attribution.state, State::kKnown);
}

TEST_F(ExporterOwnersTest, NamedPodConfirmsAtOnce) {
  Next(absl::Seconds(1), "web-0");
  Next(absl::Seconds(10), "");
  EXPECT_EQ(Next(absl::Seconds(10), "web-0").attribution.state, State::kKnown);
  EXPECT_EQ(Next(absl::Seconds(10), "").attribution.state, State::kUnknown);
}

TEST_F(ExporterOwnersTest, ChangesAreLoggedOnce) {
  testing::internal::CaptureStderr();
  Next(absl::Seconds(1), "", 90);
  Next(absl::Seconds(1), "", 90);
  Next(absl::Seconds(1), "web-0", 90);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr("event=attribution_known"));
  const size_t first = log.find("event=attribution_unknown");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("event=attribution_unknown", first + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace gpuscaler

// Attribution while the kubelet does not answer, or has not received its pods yet.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class AttributionGraceTest : public AttributedNode {};

TEST_F(AttributionGraceTest, LastOwnersStayValidWithoutAKubeletForTheGrace) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  const absl::Time answered_at = clock_.Now();
  Read();
  kubelet_.Stop();
  EXPECT_THAT(Query(), HasSubstr("level=warn event=kubelet_lost"));
  EXPECT_EQ(Query(), "") << "logged once";
  while (clock_.Now() - answered_at <= kAttributionGrace) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
    EXPECT_EQ(log_, "");
    Query();
  }
  NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_THAT(snapshot.attribution.why, HasSubstr("no such socket"));
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_THAT(snapshot.pods, IsEmpty());
  EXPECT_THAT(log_, HasSubstr("level=warn event=attribution_unknown"));
  Query();
  Read();
  EXPECT_EQ(log_, "") << "logged once";

  kubelet_.Start();
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_found"));
  snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_THAT(log_, HasSubstr("event=attribution_known"));
}

TEST_F(AttributionGraceTest, RestartOfTheKubeletChangesNothing) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  kubelet_.Stop();
  Query();
  kubelet_.Start();
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_found"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(AttributionGraceTest, KubeletThatNeverAnsweredIsUnknownAtOnce) {
  kubelet_.Fail(absl::ResourceExhaustedError("rejected by rate limit"));
  EXPECT_THAT(Query(), HasSubstr("rejected by rate limit"));
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_THAT(snapshot.attribution.why, HasSubstr("rejected by rate limit"));
}

TEST_F(AttributionGraceTest, TooManyCallsAreAnErrorLikeAnyOther) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  kubelet_.Fail(absl::ResourceExhaustedError("rejected by rate limit"));
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_lost"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(AttributionGraceTest, SlowKubeletDoesNotBlockTheSampler) {
  KubeletAttribution impatient(clock_,
                               {.pod_resources = kubelet_.pod_resources_socket(), .pods_api = {}},
                               absl::Milliseconds(50));
  kubelet_.Hang(true);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(impatient.Query());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no answer within 50ms"));
  NodeSnapshot snapshot;
  EXPECT_FALSE(impatient.Annotate(snapshot));
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
}

TEST_F(AttributionGraceTest, UnknownUntilThePodsApiHasSynced) {
  kubelet_.ServePodsApi(true);
  kubelet_.FailPodsApi(absl::FailedPreconditionError("not synced"));
  for (int i = 0; i < 100; ++i) {
    Query();
    const NodeSnapshot snapshot = Read();
    ASSERT_EQ(snapshot.attribution.state, State::kUnknown) << i;
    EXPECT_THAT(snapshot.attribution.why, HasSubstr("has not synced its pods yet"));
    EXPECT_THAT(snapshot.attribution.why, HasSubstr("not synced"));
  }
}

// The API server is away when the kubelet starts.
TEST_F(AttributionGraceTest, LastOwnersStayValidForTheGraceUntilThePodsApiHasSynced) {
  kubelet_.ServePodsApi(true);
  const FakeKubelet::Pod web = {.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}}, .of_api = {}};
  kubelet_.SetPods({web});
  Query();
  const absl::Time answered_at = clock_.Now();
  kubelet_.SetPods({});
  kubelet_.FailPodsApi(absl::FailedPreconditionError("not synced"));
  EXPECT_THAT(Query(),
              HasSubstr("event=kubelet_lost why=\"the kubelet has not synced its pods yet: "));
  for (; clock_.Now() - answered_at <= kAttributionGrace; Query()) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  }
  for (int i = 0; i < 20; ++i, Query()) EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.SetPods({web});
  kubelet_.FailPodsApi(absl::OkStatus());
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_found"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(AttributionGraceTest, LastPodsApiAnswerStaysValidForTheGraceToo) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods({{.devices = {"shop", "web-x7k2p", {Gpu("GPU-sim-0")}},
                     .of_api = {.owner_references = {{"DaemonSet", "web", true}}}}});
  Query();
  kubelet_.ServePodsApi(false);
  EXPECT_THAT(Query(), HasSubstr("event=pods_api_lost"));
  EXPECT_EQ(Owners(Read()), "DaemonSet/web");
  clock_.Advance(kAttributionGrace);
  Query();
  EXPECT_EQ(Owners(Read()), "ReplicaSet/web DaemonSet/web Job/web");
}

}  // namespace
}  // namespace gpuscaler

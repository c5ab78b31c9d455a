// Streams on a fleet: the changes that a stream evaluates, and what it sends as time passes.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serve/test_fleet_fixture.h"
#include "serve/test_scaler_client.h"

namespace gpuscaler {
namespace {

class StreamsOnFleetTest : public FleetFixture {
 protected:
  using Stream = TestScalerClient::IsActiveStream;

  ~StreamsOnFleetTest() override {
    service_.StopStreams();
    server_->Drain(absl::Seconds(5));
  }

  std::unique_ptr<Stream> Open(const externalscaler::ScaledObjectRef& ref) {
    return client_.StreamIsActive(ref);
  }

  // Returns true once all streams that were due or had changed are refreshed.
  bool ThreadComesRound() {
    const int before = rounds_;
    return Eventually([&] { return rounds_ >= before + 2; });
  }

  std::atomic<int> rounds_ = 0;
  ScalerService service_{{.stale_after = kSixSeconds,
                          .stream_lifetime = absl::Hours(10),
                          .on_tick = [this] { ++rounds_; }},
                         clock_,
                         queries_,
                         leases_,
                         profiles_,
                         counted_,
                         [] {}};
  const std::unique_ptr<GrpcServer> server_ =
      *GrpcServer::Start({.bind_address = "127.0.0.1"}, {}, service_.methods());
  TestScalerClient client_{Target{.address = absl::StrCat("127.0.0.1:", server_->port())}};
};

TEST_F(StreamsOnFleetTest, ChangeOfOneNamespaceCausesNoReadForAnother) {
  const std::map<std::string, std::string> edges = {{"activationThreshold", "50"},
                                                    {"activationWindow", "0s"}};
  const auto of_a = Open(RefIn("team-a", edges));
  const auto of_b = Open(RefIn("team-b", edges));
  ASSERT_TRUE(of_a->WaitForHeaders());
  ASSERT_TRUE(of_b->WaitForHeaders());
  // The fleet is read when a stream opens, and once more by the thread.
  ASSERT_TRUE(Eventually([&] { return queries_.reads("team-a") >= 2; }));
  const int reads = queries_.reads("team-a");
  for (int change = 1; change <= 20; ++change) {
    const int before = queries_.reads("team-b");
    clock_.Advance(absl::Milliseconds(10));
    Report("b", change);
    ASSERT_TRUE(Eventually([&] { return queries_.reads("team-b") > before; }));
  }
  EXPECT_LT(queries_.reads("team-a"), reads + 5) << "its own deadlines alone";
}

TEST_F(StreamsOnFleetTest, ChangeOfOneWorkloadCausesNoReadForOthersInItsNamespace) {
  constexpr int kObjects = 500;
  std::vector<std::string> nodes;
  for (int i = 0; i < kObjects; ++i) nodes.push_back(absl::StrCat("n", i, ":1"));
  store_.Listed(nodes);
  for (int i = 0; i < kObjects; ++i) ReportWorkload(i, 0);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kObjects; ++i) {
    externalscaler::ScaledObjectRef ref =
        RefIn("crowd", {{"activationThreshold", "200"}, {"activationWindow", "0s"}});
    ref.set_name(absl::StrCat("workload-", i));
    streams.push_back(Open(ref));
  }
  const auto reads = [&](int i) { return queries_.reads(absl::StrCat("owner workload-", i)); };
  for (int i = 0; i < kObjects; ++i) {
    ASSERT_TRUE(Eventually([&] { return reads(i) >= 2; })) << "when it opens, and by the thread";
  }
  const int before = queries_.reads("crowd");
  for (int change = 1; change <= 20; ++change) {
    const int of_seven = reads(7);
    clock_.Advance(absl::Milliseconds(1));
    ReportWorkload(7, change);
    ASSERT_TRUE(Eventually([&] { return reads(7) > of_seven; }));
  }
  EXPECT_LT(queries_.reads("crowd"), before + kObjects) << "not for each change all";
}

TEST_F(StreamsOnFleetTest, ActiveStreamEvaluatesOnceASecond) {
  const std::map<std::string, std::string> edges = {{"activationThreshold", "50"},
                                                    {"activationWindow", "0s"}};
  const auto of_a = Open(RefIn("team-a", edges));
  const auto of_b = Open(RefIn("team-b", edges));
  ASSERT_TRUE(of_a->WaitForHeaders());
  ASSERT_TRUE(Eventually([&] { return queries_.reads("team-a") >= 2; }));
  clock_.Advance(absl::Seconds(1));
  Report("a", 90);
  ASSERT_EQ(of_a->WaitForMessages(1).size(), 1u);
  const int reads = queries_.reads("team-a");
  for (int change = 1; change <= 20; ++change) {
    const int before = queries_.reads("team-b");
    clock_.Advance(absl::Milliseconds(10));
    Report("a", 90 - change);
    Report("b", change);
    ASSERT_TRUE(Eventually([&] { return queries_.reads("team-b") > before; }));
  }
  EXPECT_LT(queries_.reads("team-a"), reads + 5);
  clock_.Advance(absl::Milliseconds(10));
  Report("a", 10);
  const int decided = counted_.decided(Outcome::kValue);
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(Eventually([&] { return counted_.decided(Outcome::kValue) > decided; }))
      << "that it is idle";
  clock_.Advance(absl::Milliseconds(10));
  Report("a", 90);
  EXPECT_EQ(of_a->WaitForMessages(2).size(), 2u) << "an edge, at once";
}

TEST_F(StreamsOnFleetTest, ReadingOfAnInactiveWorkloadCausesNoDecision) {
  RepeatFor(absl::Minutes(3), 0, 0);
  const auto of_a = Open(RefIn("team-a", {{"activationThreshold", "50"}}));
  ASSERT_TRUE(of_a->WaitForHeaders());
  ASSERT_TRUE(Eventually(
      [&] { return queries_.reads("team-a") >= 2 && counted_.decided(Outcome::kValue) >= 1; }));
  const int decided = counted_.decided(Outcome::kValue);
  for (int change = 1; change <= 50; ++change) {
    const int before = queries_.reads("team-a");
    clock_.Advance(absl::Seconds(1));
    Report("a", change);
    ASSERT_TRUE(Eventually([&] { return queries_.reads("team-a") > before; }));
  }
  EXPECT_EQ(counted_.decided(Outcome::kValue), decided);
  clock_.Advance(absl::Milliseconds(1));
  Report("a", 51);
  EXPECT_EQ(of_a->WaitForMessages(1).size(), 1u);
}

// The pods that a stream watches depend on the holders of GPUs. New profiles at the same time must
// not hide such a change.
TEST_F(StreamsOnFleetTest, ChangeTogetherWithNewProfilesIsSeen) {
  using From = Pod::OwnersFrom;
  const Pod of_llm{.owners = {{"Deployment", "llm"}}, .owners_from = From::kReferences};
  const Pod of_another{.owners = {{"Deployment", "another"}}, .owners_from = From::kReferences};
  const Pod of_llm_or_another{.owners = {{"Deployment", "llm"}, {"StatefulSet", "another"}},
                              .owners_from = From::kName};
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "c:1", "d:1"});
  ReportPod("c", of_llm);
  ReportPod("d", {.owners = {{"Deployment", "third"}}, .owners_from = From::kReferences});
  const auto stream =
      Open(RefIn("team-a", {{"activationThreshold", "200"}, {"activationWindow", "0s"}}));
  ASSERT_TRUE(stream->WaitForHeaders());
  ASSERT_TRUE(Eventually([&] { return queries_.reads("team-a") >= 2; }));

  ASSERT_TRUE(queries_.BlockWaiter());
  clock_.Advance(absl::Milliseconds(1));
  ReportPod("c", of_llm_or_another);
  folder_.Write("profiles.yaml", "profiles: {ours: {targetValue: 70}}\n");
  ASSERT_TRUE(profiles_.Reload().ok());
  const int reads = queries_.reads("team-a");
  queries_.ReleaseWaiter();
  ASSERT_TRUE(Eventually([&] { return queries_.reads("team-a") >= reads + 2; }))
      << "for the change, and for the profiles";
  // A stream with resolved owners ignores the holder of d's GPU; here its owners are ambiguous.
  const int then = queries_.reads("team-a");
  clock_.Advance(absl::Milliseconds(1));
  ReportPod("d", of_another);
  EXPECT_TRUE(Eventually([&] { return queries_.reads("team-a") > then; }));
}

TEST_F(StreamsOnFleetTest, StreamSeesActivityEndWithoutANewReading) {
  RepeatFor(absl::Minutes(3), 90, 0);
  const auto stream = Open(RefIn("team-a", {{"activationWindow", "10s"}}));
  ASSERT_EQ(stream->WaitForMessages(1).size(), 1u);
  ASSERT_TRUE(ThreadComesRound());
  clock_.Advance(absl::Seconds(1));
  Report("a", 0);
  // Without another reading, the busy reading leaves activationWindow within its agent's grace.
  const int decided = counted_.decided(Outcome::kValue);
  clock_.Advance(absl::Seconds(12));
  ASSERT_TRUE(Eventually([&] { return counted_.decided(Outcome::kValue) > decided; }));
  clock_.Advance(absl::Milliseconds(10));
  Report("a", 90);
  EXPECT_EQ(stream->WaitForMessages(2).size(), 2u) << "active again";
}

}  // namespace
}  // namespace gpuscaler

// What an aggregator's probes and gRPC health say.
#include "fault_test.h"
#include "held_thread.h"
#include "serve/raw_stream.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

class AggregatorHealthTest : public FaultTest {
 protected:
  // 0: there was no answer.
  int Probe(const std::string& path) const {
    const auto reply = Ask(aggregator_->Port("probe"), "GET", path);
    return reply.ok() ? reply->status : 0;
  }
  // Of gRPC's health service, written out: string service = 1; status = 1.
  bool ScalerServes() const {
    constexpr absl::string_view kScaler = "externalscaler.ExternalScaler";
    RawStream check(grpc::CreateChannel(aggregator_->Address(), grpc::InsecureChannelCredentials()),
                    "/grpc.health.v1.Health/Check",
                    absl::StrCat("\n", std::string(1, static_cast<char>(kScaler.size())), kScaler));
    return check.Read() == "\x08\x01";
  }
};

TEST_F(AggregatorHealthTest, LivenessFailsWhileTheThreadThatAnswersHangs) {
  StartNodes(1);
  StartAgents();
  aggregator_ = StartAggregator(StaticAgents(), {"--hang-after=1s"});
  ASSERT_EQ(Probe("/healthz"), 200);
  {
    const HeldThread answers(aggregator_->process().pid(), "answers");
    ASSERT_TRUE(answers.held().ok()) << answers.held();
    EXPECT_TRUE(Eventually([this] { return Probe("/healthz") == 503; }));
    EXPECT_TRUE(aggregator_->process().WaitForErr("event=thread_hangs thread=answers"));
  }
  EXPECT_TRUE(Eventually([this] { return Probe("/healthz") == 200; }));
}

TEST_F(AggregatorHealthTest, HealthOfTheScalerFollowsWhetherTheFleetIsKnown) {
  StartNodes(1);
  StartAgents();
  agents_[0]->process().Signal(SIGSTOP);
  aggregator_ = StartAggregator(StaticAgents());
  ASSERT_TRUE(aggregator_->process().WaitForErr("event=serving"));
  EXPECT_FALSE(ScalerServes());
  agents_[0]->process().Signal(SIGCONT);
  EXPECT_TRUE(Eventually([this] { return ScalerServes(); }));
}

}  // namespace
}  // namespace gpuscaler

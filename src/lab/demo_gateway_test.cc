#include "lab/demo_gateway.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Engines that reply when the test requests it.
class FakeEngines : public HttpSender {
 public:
  using Sent = std::vector<std::pair<std::string, int64_t>>;

  void SendTo(const std::string& url, int64_t id) override { sent_.emplace_back(url, id); }
  void Send(int64_t /*id*/) override { FAIL() << "to no engine"; }
  std::vector<Answered> Wait(absl::Duration /*timeout*/) override {
    return std::exchange(answers_, {});
  }

  void Answer(int64_t id, const std::string& error = "") { answers_.push_back({id, error}); }
  Sent TakeSent() { return std::exchange(sent_, {}); }

 private:
  Sent sent_;
  std::vector<Answered> answers_;
};

class DemoGatewayTest : public testing::Test {
 protected:
  FakeEngines* const engines_ = new FakeEngines;  // owned by the gateway
  DemoGateway gateway_{std::unique_ptr<HttpSender>(engines_)};
};

TEST_F(DemoGatewayTest, HoldsRequestsWhileNoEngineIsReady) {
  gateway_.Send(1);
  gateway_.Send(2);
  gateway_.Wait(absl::Seconds(1));
  EXPECT_THAT(engines_->TakeSent(), IsEmpty());
  EXPECT_EQ(gateway_.held(), 2);
  EXPECT_THAT(gateway_.MetricsEndpoint(), HasSubstr("\ngateway_requests_held 2\n"));
  gateway_.SetReady({"a"});
  gateway_.Wait(absl::Seconds(1));
  EXPECT_THAT(engines_->TakeSent(), ElementsAre(Pair("a", 1), Pair("a", 2)));
  EXPECT_EQ(gateway_.held(), 0);
}

TEST_F(DemoGatewayTest, SendsToTheEngineWithTheFewestRequests) {
  gateway_.SetReady({"a", "b"});
  for (int64_t id = 1; id <= 3; ++id) gateway_.Send(id);
  EXPECT_THAT(engines_->TakeSent(), ElementsAre(Pair("a", 1), Pair("b", 2), Pair("a", 3)));
  engines_->Answer(1);
  engines_->Answer(3);
  EXPECT_EQ(gateway_.Wait(absl::Seconds(1)).size(), 2U);
  gateway_.SetReady({"a", "b"});
  gateway_.Send(4);
  EXPECT_THAT(engines_->TakeSent(), ElementsAre(Pair("a", 4)));
}

TEST_F(DemoGatewayTest, UnservedRequestsOfAStoppedEngineGoToAnother) {
  gateway_.SetReady({"a"});
  gateway_.Send(1);
  gateway_.SetReady({"b"});
  engines_->Answer(1, "HTTP 503");
  EXPECT_THAT(gateway_.Wait(absl::Seconds(1)), IsEmpty());
  gateway_.Wait(absl::Seconds(1));
  EXPECT_THAT(engines_->TakeSent(), ElementsAre(Pair("a", 1), Pair("b", 1)));
  engines_->Answer(1);
  EXPECT_EQ(gateway_.Wait(absl::Seconds(1)).size(), 1U);
}

}  // namespace
}  // namespace gpuscaler

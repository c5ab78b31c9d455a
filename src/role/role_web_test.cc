// The web port of a running scaler.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/printable_text.h"
#include "base/test_eventually.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "role/running_role.h"
#include "serve/scaler_client.h"
#include "serve/test_http_client.h"
#include "web/history_point.h"

namespace gpuscaler {
namespace {

using gpuscaler::v1::Explanation;
using nlohmann::json;

constexpr char kLlamaPath[] = "/api/v1/workloads/team-a/llama";

// A standalone scaler with one simulated GPU and real ports. Its clock stands still unless a test
// advances it, so that both ports explain the same instant.
class RoleWebTest : public testing::Test {
 protected:
  void SetUp() override {
    Config config;
    config.gpu_source = absl::StrCat("file:", WriteGpu(50));
    config.bind_address = "127.0.0.1";
    config.port = config.metrics_port = config.web_port = kAnyPort;
    config.probe_port = 0;
    config.node_name = "gpu-a";
    config.attribution = AttributionMode::kNone;
    config.poll_interval = absl::Milliseconds(20);
    config.stale_after = absl::Minutes(1);  // readings outlast a step of the history
    DemoOverrides overrides;
    overrides.clock_speed = 50;  // the history looks for a new step every 20 ms
    auto role = RunningRole::Start(config, clock_, overrides);
    ASSERT_TRUE(role.ok()) << role.status();
    role_ = *std::move(role);
    ScalerClientOptions options{.address = absl::StrCat("127.0.0.1:", role_->grpc_port())};
    options.deadline = absl::Seconds(30);
    auto client = ScalerClient::Open(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  std::string WriteGpu(int utilization_percent) const {
    return folder_.Write("gpus.json",
                         absl::StrCat(R"({"gpus": [{"uuid": "GPU-0", "utilization_percent": )",
                                      utilization_percent, "}]}\n"));
  }

  // Requests the value as KEDA does until it is `want`. Each attempt takes 1 ns: the sampler may
  // have read the file before it was written, and keeps one reading of each time.
  bool AwaitValue(double want) {
    return Eventually([&] {
      if (client_->GetMetrics(trigger_, "keda_gpu_metric").value_or(-1) == want) return true;
      clock_.Advance(absl::Nanoseconds(1));
      return false;
    });
  }

  json Get(const std::string& path) const {
    const auto reply = Request(role_->web_port(), "GET", path);
    EXPECT_TRUE(reply.ok()) << path << ": " << reply.status();
    return json::parse(reply.ok() ? reply->body : "", nullptr, false);
  }

  // Requests what `keda-gpu-scaler explain team-a/llama` does.
  std::string PathOfTrigger(const std::string& what) const {
    const json workload = Get(kLlamaPath);
    return absl::StrCat(kLlamaPath, what, "?trigger=",
                        workload.at("triggers").at(0).at("trigger").get<std::string>());
  }
  json PresentExplanation() const { return Get(PathOfTrigger("/explanation")); }
  json PastExplanation(absl::Time at) const {
    return Get(absl::StrCat(PathOfTrigger("/explanation"), "&at=", absl::ToUnixSeconds(at)));
  }

  static void ExpectSame(const json& web, const Explanation& query) {
    EXPECT_EQ(web.at("text"), EscapedLines(LinesWithoutBlankEnd(query.text())))
        << "as `query --explain` prints it";
    EXPECT_EQ(web.at("code"), query.code());
    EXPECT_EQ(web.at("value"), query.value());
    EXPECT_EQ(web.at("active"), query.active());
    EXPECT_EQ(web.at("active_because"), query.active_because());
    EXPECT_EQ(web.at("target"), query.target());
    EXPECT_EQ(web.at("target_type"), query.target_type());
    EXPECT_EQ(web.at("replicas"), query.replicas());
    EXPECT_EQ(web.at("replicas_from"), query.replicas_from());
    ASSERT_EQ(web.at("shares").size(), static_cast<size_t>(query.shares_size()));
    for (int i = 0; i < query.shares_size(); ++i) {
      const json& share = web.at("shares").at(static_cast<size_t>(i));
      EXPECT_EQ(share.at("name"), query.shares(i).name());
      EXPECT_EQ(share.at("state"), query.shares(i).state());
      EXPECT_EQ(share.at("load"), query.shares(i).load());
    }
  }

  const TriggerRef trigger_ = {.name = "llama",
                               .namespace_name = "team-a",
                               .metadata = {{"metricType", "gpu_utilization"},
                                            {"targetGpuUtilization", "80"},
                                            {"scope", "fleet"},
                                            {"window", "0s"}}};
  const TestFolder folder_;
  FakeClock clock_;
  std::unique_ptr<RunningRole> role_;
  std::unique_ptr<ScalerClient> client_;
};

TEST_F(RoleWebTest, ExplanationsAreThoseOfTheQueryThenAndNow) {
  const absl::Time then = clock_.Now() + kHistoryStep;
  ASSERT_TRUE(AwaitValue(50));
  // A reading just before the next step of the history, so that its age is "now" in both texts.
  WriteGpu(70);
  clock_.Advance(then - absl::Milliseconds(1) - clock_.Now());
  ASSERT_TRUE(AwaitValue(70));
  clock_.Advance(then - clock_.Now());
  json past;
  ASSERT_TRUE(Eventually([&] {
    past = PastExplanation(then);
    return past.contains("at") && past.at("at") == absl::ToUnixSeconds(then);
  })) << past;
  const json history = Get(PathOfTrigger("/history"));
  EXPECT_EQ(history.at("points").back(), absl::ToUnixSeconds(then));
  EXPECT_EQ(history.at("value").back(), 70);
  const auto query = client_->Explain(trigger_);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->value(), 70);
  ExpectSame(past, *query);
  ExpectSame(PresentExplanation(), *query);

  WriteGpu(90);
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(AwaitValue(90));
  const auto later = client_->Explain(trigger_);
  ASSERT_TRUE(later.ok()) << later.status();
  ExpectSame(PresentExplanation(), *later);
  ExpectSame(PastExplanation(then), *query);
}

TEST_F(RoleWebTest, RefusedRepliesAreExported) {
  const auto page = Request(role_->metrics_port(), "GET", "/metrics");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->body, testing::HasSubstr("\nkeda_gpu_scaler_web_replies_refused_total 0\n"));
}

// Another aggregator may get all calls for a trigger until KEDA connects anew.
TEST(AggregatorWebTest, TriggerIsListedForThreeTimesTheAgeOfAConnection) {
  Config config;
  config.role = Role::kAggregator;
  config.agents = "static:127.0.0.1:1";  // no agent answers there
  config.bind_address = "127.0.0.1";
  config.port = config.metrics_port = config.web_port = kAnyPort;
  config.probe_port = 0;
  FakeClock clock;
  const auto role = RunningRole::Start(config, clock);
  ASSERT_TRUE(role.ok()) << role.status();
  const auto client =
      ScalerClient::Open({.address = absl::StrCat("127.0.0.1:", (*role)->grpc_port())});
  ASSERT_TRUE(client.ok()) << client.status();
  const TriggerRef trigger = {.name = "llama", .namespace_name = "team-a", .metadata = {}};
  EXPECT_FALSE((*client)->GetMetrics(trigger, "keda_gpu_metric").ok());
  const auto status = [&] {
    const auto reply = Request((*role)->web_port(), "GET", kLlamaPath);
    return reply.ok() ? reply->status : 0;
  };
  clock.Advance(3 * config.max_connection_age - absl::Seconds(1));
  EXPECT_EQ(status(), 200);
  clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(Eventually([&] { return status() == 404; }));
}

}  // namespace
}  // namespace gpuscaler

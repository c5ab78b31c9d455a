// Agents and aggregators as processes, asked as KEDA asks, while something goes wrong.
#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "fleet_node.h"
#include "gtest/gtest.h"
#include "keda_log.h"
#include "process.h"
#include "serve/test_http_client.h"

namespace gpuscaler {

// Three nodes with a GPU each at 60 %, held by a pod of the workload that is asked for; target 80.
class FaultTest : public testing::Test {
 protected:
  static constexpr double kLoad = 60;
  static constexpr double kTarget = 80;
  static constexpr double kWhole = 3 * kLoad;               // all that is there
  static constexpr double kOneStale = 2 * kLoad + kTarget;  // one of three cannot be read
  // Longer than three heartbeats for the same reason as kStaleAfter.
  static constexpr absl::Duration kGrace = absl::Seconds(12);

  // A workload that is busy stays active.
  void TearDown() override {
    if (keda_ == nullptr || falls_asleep_) return;
    for (const KedaAnswer& answer : keda_->Since(absl::InfinitePast())) {
      EXPECT_TRUE(answer.active.value_or(true));
    }
  }

  void StartNodes(int count = 3) {
    for (int i = 0; i < count; ++i) {
      nodes_.push_back(std::make_unique<FleetNode>(absl::StrCat("gpu-", i), Percents{kLoad}));
    }
  }
  void StartAgents() {
    for (const auto& node : nodes_) agents_.push_back(node->StartAgent());
  }
  // "static:127.0.0.1:4711,..." of those that were started.
  std::string StaticAgents() const {
    std::string addresses;
    for (const auto& agent : agents_) {
      absl::StrAppend(&addresses, addresses.empty() ? "static:" : ",", agent->Address());
    }
    return addresses;
  }
  static std::unique_ptr<Server> StartAggregator(const std::string& agents,
                                                 const std::vector<std::string>& flags = {}) {
    std::vector<std::string> all = {
        "--role=aggregator", absl::StrCat("--agents=", agents),
        absl::StrCat("--grace=", absl::FormatDuration(kGrace)),
        absl::StrCat("--stale-after=", absl::FormatDuration(kStaleAfter)), "--poll-interval=100ms"};
    all.insert(all.end(), flags.begin(), flags.end());
    auto aggregator = std::make_unique<Server>(all);
    EXPECT_TRUE(aggregator->Ready()) << aggregator->process().Story();
    return aggregator;
  }
  // What the kubelet asks; 0: there was no answer.
  static int Probe(const Server& server, const std::string& path) {
    const auto reply = Ask(server.Port("probe"), "GET", path);
    return reply.ok() ? reply->status : 0;
  }
  static bool IsReady(const Server& server) { return Probe(server, "/readyz") == 200; }
  static TriggerRef WebTrigger(const std::string& window = "0s") {
    return {.name = "web",
            .namespace_name = "shop",
            .metadata = {{"metricType", "gpu_utilization"},
                         {"targetValue", "80"},
                         {"workload", "Deployment/web"},
                         {"window", window},
                         {"activationWindow", "2s"}}};
  }
  static std::unique_ptr<KedaLog> AskAsKeda(const Server& aggregator,
                                            const std::string& window = "0s") {
    return std::make_unique<KedaLog>(
        ScalerClientOptions{.address = aggregator.Address(), .deadline = kCallThatHangs},
        WebTrigger(window));
  }
  // Nodes, agents, aggregator and KEDA, and the answer is right.
  void StartAll() {
    StartNodes();
    StartAgents();
    aggregator_ = StartAggregator(StaticAgents());
    keda_ = AskAsKeda(*aggregator_);
    ASSERT_TRUE(Settles(kWhole)) << StoryOf(keda_->Since(absl::InfinitePast()))
                                 << aggregator_->process().Err();
  }
  bool Settles(double value) const {
    return keda_->Settled(value, absl::InfinitePast()) != absl::InfiniteFuture();
  }
  // How long after `since` the answers were `value` for good.
  absl::Duration TimeTo(double value, absl::Time since) const {
    const absl::Time settled = keda_->Settled(value, since);
    EXPECT_NE(settled, absl::InfiniteFuture())
        << "never " << value << ": " << StoryOf(keda_->Since(since));
    return settled - since;
  }

  std::vector<std::unique_ptr<FleetNode>> nodes_;
  std::vector<std::unique_ptr<Server>> agents_;
  std::unique_ptr<Server> aggregator_;
  std::unique_ptr<KedaLog> keda_;
  bool falls_asleep_ = false;  // rightly, at some time
};

// What an answer may be during a fault besides a value within bounds.
enum class Unknown {
  kNever,
  kAllowed,  // an error that passes: KEDA and the HPA leave the workload as it is
};

// No answer scales in what is there, or out what is not: each value is from `least` to `most`, and
// active.
void ExpectNoWrongScaling(const std::vector<KedaAnswer>& answers, double least, double most,
                          Unknown unknown = Unknown::kNever);

// From nothing to `most`: no answer says less than the one before, each is active where it is above
// 0, and errors pass.
void ExpectOnlyRises(const std::vector<KedaAnswer>& answers, double most);

}  // namespace gpuscaler

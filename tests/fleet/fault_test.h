// Agents and aggregators as processes, polled as by KEDA during faults.
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

// Three nodes with one GPU each at 60 %, used by the pods of one workload; the target is 80.
class FaultTest : public testing::Test {
 protected:
  static constexpr double kLoad = 60;
  static constexpr double kTarget = 80;
  static constexpr double kWhole = 3 * kLoad;               // value with all three nodes
  static constexpr double kOneStale = 2 * kLoad + kTarget;  // value with one of three unreadable
  // Longer than three heartbeats; kStaleAfter has the reason.
  static constexpr absl::Duration kGrace = absl::Seconds(12);

  // A busy workload stays active.
  void TearDown() override {
    if (keda_ == nullptr || may_go_idle_) return;
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
  // Returns "static:127.0.0.1:4711,..." of the started agents.
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
    EXPECT_TRUE(aggregator->Ready()) << aggregator->process().Diagnostics();
    return aggregator;
  }
  // Probes as the kubelet does. Returns 0 if there was no answer.
  static int Probe(const Server& server, const std::string& path) {
    const auto reply = Request(server.Port("probe"), "GET", path);
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
  static std::unique_ptr<KedaLog> PollAsKeda(const Server& aggregator,
                                             const std::string& window = "0s") {
    return std::make_unique<KedaLog>(
        ScalerClientOptions{.address = aggregator.Address(), .deadline = kHangTimeout},
        WebTrigger(window));
  }
  // Starts nodes, agents, aggregator and KEDA, and waits for the right value.
  void StartAll() {
    StartNodes();
    StartAgents();
    aggregator_ = StartAggregator(StaticAgents());
    keda_ = PollAsKeda(*aggregator_);
    ASSERT_TRUE(Settles(kWhole)) << HistoryText(keda_->Since(absl::InfinitePast()))
                                 << aggregator_->process().Err();
  }
  bool Settles(double value) const {
    return keda_->Settled(value, absl::InfinitePast()) != absl::InfiniteFuture();
  }
  // Returns the time from `since` until the answers stay at `value`.
  absl::Duration TimeTo(double value, absl::Time since) const {
    const absl::Time settled = keda_->Settled(value, since);
    EXPECT_NE(settled, absl::InfiniteFuture())
        << "never " << value << ": " << HistoryText(keda_->Since(since));
    return settled - since;
  }

  // Blocks until the agent has sent a heartbeat.
  static void AwaitHeartbeat(const Server& agent) {
    const std::string name = "\nkeda_gpu_scaler_telemetry_heartbeats_total ";
    const auto sent = [&] {
      const auto page = Request(agent.Port("metrics"), "GET", "/metrics");
      const size_t at = page.ok() ? page->body.find(name) : std::string::npos;
      return at == std::string::npos ? -1 : std::atoi(page->body.c_str() + at + name.size());
    };
    const int before = sent();
    EXPECT_TRUE(Eventually([&] { return sent() > before; }));
  }

  std::vector<std::unique_ptr<FleetNode>> nodes_;
  std::vector<std::unique_ptr<Server>> agents_;
  std::unique_ptr<Server> aggregator_;
  std::unique_ptr<KedaLog> keda_;
  bool may_go_idle_ = false;  // set by tests in which the workload goes idle
};

// The errors that are allowed during a fault.
enum class Unknown {
  kNever,
  kAllowed,  // temporary errors: KEDA and the HPA keep the replicas
};

// Expects no scale-in of what is needed and no scale-out beyond it: each value is between `least`
// and `most`, and active.
void ExpectNoWrongScaling(const std::vector<KedaAnswer>& answers, double least, double most,
                          Unknown unknown = Unknown::kNever);

// Expects values that rise from nothing to `most` and never fall, active if above 0. Errors are
// allowed.
void ExpectOnlyRises(const std::vector<KedaAnswer>& answers, double most);

}  // namespace gpuscaler

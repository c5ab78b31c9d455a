// Aggregators that restart, two aggregators, and agents with invalid certificates.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "fault_test.h"
#include "wire/test_certificates.h"

namespace gpuscaler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AggregatorFaultTest : public FaultTest {};

// Sends requests of many ScaledObjects as fast as the aggregator answers.
class Load {
 public:
  Load(const std::string& address, const TriggerRef& trigger) {
    constexpr int kClients = 4;
    for (int i = 0; i < kClients; ++i) {
      threads_.emplace_back([this, address, trigger] {
        const auto client = ScalerClient::Open({.address = address});
        while (!stopping_) {
          (*client)->GetMetrics(trigger, "keda_gpu_metric").status().IgnoreError();
          ++asked_;
        }
      });
    }
  }
  ~Load() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int64_t asked() const { return asked_; }

 private:
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> asked_ = 0;
  std::vector<std::thread> threads_;
};

std::string PortFlag(const Server& aggregator) {
  return absl::StrCat("--port=", aggregator.Port("grpc"));
}

TEST_F(AggregatorFaultTest, ARestartUnderLoadNeverLowersTheValue) {
  StartAll();
  const Load load(aggregator_->Address(), WebTrigger());
  ASSERT_TRUE(Eventually([&] { return load.asked() > 100; }));
  const std::string port = PortFlag(*aggregator_);
  const absl::Time killed = absl::Now();
  aggregator_->process().Signal(SIGKILL);
  aggregator_->process().Wait();
  aggregator_ = StartAggregator(StaticAgents(), {port});
  const absl::Duration recovery = TimeTo(kWhole, killed);
  ExpectNoWrongScaling(keda_->Since(killed), kWhole, kWhole, Unknown::kAllowed);
  ReportFault("aggregator killed under load, and back", keda_->Since(killed), recovery,
              kReconnected);
  EXPECT_GT(keda_->pushed(), 0);
}

TEST_F(AggregatorFaultTest, AShutdownUnderLoadNeverLowersTheValue) {
  StartAll();
  const Load load(aggregator_->Address(), WebTrigger());
  ASSERT_TRUE(Eventually([&] { return load.asked() > 100; }));
  const std::string port = PortFlag(*aggregator_);
  const absl::Time stopped = absl::Now();
  aggregator_->process().Signal(SIGTERM);
  EXPECT_EQ(aggregator_->process().Wait(), 0);
  aggregator_ = StartAggregator(StaticAgents(), {port});
  const absl::Duration recovery = TimeTo(kWhole, stopped);
  ExpectNoWrongScaling(keda_->Since(stopped), kWhole, kWhole, Unknown::kAllowed);
  ReportFault("aggregator stopped under load, and back", keda_->Since(stopped), recovery,
              kReconnected);
}

// A restarted aggregator has only the agent's address: its replicas may be serving.
TEST_F(AggregatorFaultTest, ARestartedAggregatorWaitsForAHangingAgent) {
  StartAll();
  const std::string port = PortFlag(*aggregator_);
  agents_[2]->process().Signal(SIGSTOP);
  const absl::Time killed = absl::Now();
  aggregator_->process().Signal(SIGKILL);
  aggregator_->process().Wait();
  aggregator_ = StartAggregator(StaticAgents(), {port});
  absl::SleepFor(kGrace + absl::Seconds(2));
  const absl::Time continues = absl::Now();
  agents_[2]->process().Signal(SIGCONT);
  const absl::Duration recovery = TimeTo(kWhole, continues);
  // The first reading after a hang may be old, so the replica is kept.
  ExpectNoWrongScaling(keda_->Since(killed), kWhole, kOneStale, Unknown::kAllowed);
  ReportFault("aggregator restarted beside a hung agent", keda_->Since(killed), recovery,
              kReconnected);
}

// Returns the minimum and maximum, or nothing if an answer is an error.
std::optional<std::pair<double, double>> BoundsOf(std::span<const KedaAnswer> answers) {
  std::pair<double, double> bounds = {kInfinity, -kInfinity};
  for (const KedaAnswer& answer : answers) {
    if (!answer.value.ok()) return std::nullopt;
    bounds = {std::min(bounds.first, *answer.value), std::max(bounds.second, *answer.value)};
  }
  return bounds;
}

// Returns the largest distance of `answers` from `others` at the same time. The comparison covers
// all of `others` from the last one received before the request to the first one requested after
// the answer.
double FarthestFrom(const std::vector<KedaAnswer>& others, const std::vector<KedaAnswer>& answers) {
  double farthest = 0;
  int compared = 0;
  for (const KedaAnswer& answer : answers) {
    const auto before = std::ranges::upper_bound(others, answer.asked, {}, &KedaAnswer::at);
    const auto after = std::ranges::lower_bound(others, answer.at, {}, &KedaAnswer::asked);
    if (!answer.value.ok() || before == others.begin() || after == others.end()) continue;
    const auto bounds = BoundsOf({std::prev(before), std::next(after)});
    if (!bounds) continue;
    farthest = std::max({farthest, bounds->first - *answer.value, *answer.value - bounds->second});
    ++compared;
  }
  EXPECT_GT(compared, 0);
  return farthest;
}

// The load ends and its average over the window falls slowly. An aggregator without the past would
// return 0.
TEST_F(AggregatorFaultTest, TwoAggregatorsAgreeAlsoAfterARestart) {
  constexpr char kWindow[] = "20s";
  constexpr absl::Duration kLoaded = absl::Seconds(5);
  // The average's fall per second: on a busy machine a reading may be that late.
  constexpr double kAlike = 9;
  StartNodes();
  StartAgents();
  aggregator_ = StartAggregator(StaticAgents());
  auto second = StartAggregator(StaticAgents());
  keda_ = PollAsKeda(*aggregator_, kWindow);
  auto other = PollAsKeda(*second, kWindow);
  ASSERT_TRUE(Settles(kWhole)) << aggregator_->process().Err();
  ASSERT_NE(other->Settled(kWhole, absl::InfinitePast()), absl::InfiniteFuture());
  absl::SleepFor(kLoaded);
  may_go_idle_ = true;
  const absl::Time ended = absl::Now();
  for (const auto& node : nodes_) node->Show({0});
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LT(FarthestFrom(keda_->Since(ended), other->Since(ended)), kAlike);

  const std::string port = PortFlag(*second);
  const absl::Time killed = absl::Now();
  second->process().Signal(SIGKILL);
  second->process().Wait();
  second = StartAggregator(StaticAgents(), {port});
  ASSERT_TRUE(Eventually([&] { return other->Next().value.ok(); }));
  const absl::Duration recovery = absl::Now() - killed;
  absl::SleepFor(absl::Seconds(1));
  const std::vector<KedaAnswer> answers = other->Since(killed);
  EXPECT_LT(FarthestFrom(keda_->Since(killed), answers), kAlike) << HistoryText(answers);
  EXPECT_GT(answers.back().value.value_or(0), kAlike) << HistoryText(answers);
  ReportFault("one of two aggregators restarts", answers, recovery, kReconnected);
}

TEST_F(AggregatorFaultTest, AnAgentWithoutAValidCertificateIsRefused) {
  const TestCa ours("our CA"), another("another CA");
  const TlsFiles good = WriteTls(NewTestFolder(), ours.Issue("fleet"), ours.pem());
  const std::string folder = NewTestFolder();
  const TlsFiles bad = WriteTls(folder, another.Issue("fleet"), ours.pem());
  const auto flags = [](const TlsFiles& files) {
    return std::vector<std::string>{absl::StrCat("--tls-cert=", files.cert),
                                    absl::StrCat("--tls-key=", files.key),
                                    absl::StrCat("--tls-client-ca=", files.client_ca)};
  };
  StartNodes(4);
  for (int i = 0; i < 4; ++i) agents_.push_back(nodes_[i]->StartAgent(flags(i < 3 ? good : bad)));
  std::vector<std::string> impatient = flags(good);
  impatient.emplace_back("--empty-after=8s");  // because the fourth agent is refused
  aggregator_ = StartAggregator(StaticAgents(), impatient);
  keda_ = std::make_unique<KedaLog>(ScalerClientOptions{.address = aggregator_->Address(),
                                                        .tls = true,
                                                        .ca = good.client_ca,
                                                        .cert = good.cert,
                                                        .key = good.key,
                                                        .deadline = kHangTimeout},
                                    WebTrigger());
  const absl::Time began = absl::Now();
  const absl::Duration known = TimeTo(kWhole, began);
  EXPECT_TRUE(aggregator_->process().WaitForErr(
      absl::StrCat("event=agent_lost address=", agents_[3]->Address())));
  ExpectNoWrongScaling(keda_->Since(began), kWhole, kWhole, Unknown::kAllowed);
  ReportFault("agent with another CA's certificate", keda_->Since(began), known,
              absl::Seconds(8) + kReconnected);

  const absl::Time valid = absl::Now();
  WriteTls(folder, ours.Issue("fleet"), ours.pem());
  const absl::Duration recovery = TimeTo(kWhole + kLoad, valid);
  ExpectNoWrongScaling(keda_->Since(valid), kWhole, kWhole + kLoad);
  constexpr absl::Duration kReloaded = absl::Seconds(5);  // interval of file checks
  ReportFault("the agent gets a valid one", keda_->Since(valid), recovery,
              kReloaded + kReconnected);
}

}  // namespace
}  // namespace gpuscaler

// Aggregators that restart, two aggregators, and agents with invalid certificates.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "absl/strings/str_replace.h"
#include "fault_test.h"
#include "gmock/gmock.h"
#include "wire/test_certificates.h"

namespace gpuscaler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

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

std::vector<std::string> TlsFlags(const TlsFiles& files) {
  return {absl::StrCat("--tls-cert=", files.cert), absl::StrCat("--tls-key=", files.key),
          absl::StrCat("--tls-client-ca=", files.client_ca)};
}

ScalerClientOptions WithTls(const Server& aggregator, const TlsFiles& files) {
  return {.address = aggregator.Address(),
          .tls = true,
          .ca = files.client_ca,
          .cert = files.cert,
          .key = files.key,
          .deadline = kHangTimeout};
}

// How long an aggregator waits for an agent that it refuses.
constexpr absl::Duration kEmptyAfter = absl::Seconds(8);
constexpr char kEmptyAfterFlag[] = "--empty-after=8s";
constexpr absl::Duration kReloaded = absl::Seconds(10);  // a change is used after two reads

TEST_F(AggregatorFaultTest, AnAgentWithoutAValidCertificateIsRefused) {
  const TestCa ours("our CA"), another("another CA");
  const TlsFiles good = WriteTls(NewTestFolder(), ours.Issue("fleet"), ours.pem());
  const std::string folder = NewTestFolder();
  const TlsFiles bad = WriteTls(folder, another.Issue("fleet"), ours.pem());
  StartNodes(4);
  for (int i = 0; i < 4; ++i) {
    agents_.push_back(nodes_[i]->StartAgent(TlsFlags(i < 3 ? good : bad)));
  }
  std::vector<std::string> flags = TlsFlags(good);
  flags.emplace_back(kEmptyAfterFlag);
  aggregator_ = StartAggregator(StaticAgents(), flags);
  keda_ = std::make_unique<KedaLog>(WithTls(*aggregator_, good), WebTrigger());
  const absl::Time began = absl::Now();
  const absl::Duration known = TimeTo(kWhole, began);
  EXPECT_TRUE(aggregator_->process().WaitForErr(
      absl::StrCat("event=agent_lost address=", agents_[3]->Address())));
  ExpectNoWrongScaling(keda_->Since(began), kWhole, kWhole, Unknown::kAllowed);
  ReportFault("agent with another CA's certificate", keda_->Since(began), known,
              kEmptyAfter + kReconnected);

  const absl::Time valid = absl::Now();
  WriteTls(folder, ours.Issue("fleet"), ours.pem());
  const absl::Duration recovery = TimeTo(kWhole + kLoad, valid);
  ExpectNoWrongScaling(keda_->Since(valid), kWhole, kWhole + kLoad);
  ReportFault("the agent gets a valid one", keda_->Since(valid), recovery,
              kReloaded + kReconnected);
}

// Returns the answer of `query --explain` for the trigger.
std::string Explained(const Server& aggregator, const TlsFiles& files, const TriggerRef& trigger) {
  std::vector<std::string> args = {"query",
                                   aggregator.Address(),
                                   "--explain",
                                   absl::StrCat("--namespace=", trigger.namespace_name),
                                   absl::StrCat("--name=", trigger.name),
                                   absl::StrCat("--tls-ca=", files.client_ca),
                                   absl::StrCat("--tls-cert=", files.cert),
                                   absl::StrCat("--tls-key=", files.key)};
  for (const auto& [key, value] : trigger.metadata) args.push_back(absl::StrCat(key, "=", value));
  const Finished query = RunProgram(args);
  return query.out + query.err;
}

// All certificates are of the fleet's CA, and the third agent's is for another node.
TEST_F(AggregatorFaultTest, AnAgentWithAnotherNodesCertificateIsRefused) {
  const TestCa ca("our CA");
  const TlsFiles own = WriteTls(NewTestFolder(), ca.Issue("fleet"), ca.pem());
  StartNodes();
  std::string folder;  // the third agent's
  for (const auto& node : nodes_) {
    folder = NewTestFolder();
    const std::string name = agents_.size() < 2 ? node->name() : "gpu-9";
    agents_.push_back(node->StartAgent(TlsFlags(WriteTls(folder, ca.IssueNamed(name), ca.pem()))));
  }
  std::vector<std::string> flags = TlsFlags(own);
  flags.insert(flags.end(), {"--agent-identity=san", kEmptyAfterFlag});
  aggregator_ = StartAggregator(StaticAgents(), flags);
  keda_ = std::make_unique<KedaLog>(WithTls(*aggregator_, own), WebTrigger());
  const absl::Time began = absl::Now();
  const absl::Duration known = TimeTo(2 * kLoad, began);
  ExpectNoWrongScaling(keda_->Since(began), 2 * kLoad, 2 * kLoad, Unknown::kAllowed);
  ReportFault("agent with another node's certificate", keda_->Since(began), known,
              kEmptyAfter + kReconnected);

  const std::string address = agents_[2]->Address();
  const std::string why =
      R"(its certificate must have the DNS name of its node, "gpu-2", and has localhost, gpu-9 )"
      "(--agent-identity=san)";
  EXPECT_TRUE(aggregator_->process().WaitForErr(
      absl::StrCat("event=agent_lost address=", address, R"( node="" why=")",
                   absl::StrReplaceAll(why, {{R"(")", R"(\")"}}), R"(")")));
  EXPECT_THAT(Explained(*aggregator_, own, WebTrigger()),
              HasSubstr(absl::StrCat("1 agent not connected yet: ", address, " (", why, ")")));
  EXPECT_THAT(Request(aggregator_->Port("metrics"), "GET", "/metrics").value_or(TestReply()).body,
              ContainsRegex(R"(tls_handshakes_failed_total\{reason="wrong_node"\} [1-9])"));

  const absl::Time valid = absl::Now();
  WriteTls(folder, ca.IssueNamed("gpu-2"), ca.pem());
  const absl::Duration recovery = TimeTo(kWhole, valid);
  ExpectNoWrongScaling(keda_->Since(valid), 2 * kLoad, kWhole);
  ReportFault("the agent gets its own", keda_->Since(valid), recovery, kReloaded + kReconnected);
}

}  // namespace
}  // namespace gpuscaler

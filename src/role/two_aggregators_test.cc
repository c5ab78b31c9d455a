// The histories of two aggregators behind one headless Service, in simulated time. KEDA's calls
// take turns, so one aggregator may get all calls for a trigger for a while.
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "engine/test_served_engine.h"
#include "fleet/fleet_store.h"
#include "fleet/test_readings.h"
#include "gtest/gtest.h"
#include "role/config.h"
#include "serve/test_served_scaler.h"
#include "signal/found_engines.h"
#include "trigger/trigger.h"
#include "web/history_recorder.h"
#include "web/trigger_history.h"

namespace gpuscaler {
namespace {

constexpr char kAgent[] = "gpu-7:1";
constexpr char kNode[] = "gpu-7";
constexpr int kEngines = 2;
constexpr absl::Duration kStaleAfter = absl::Seconds(20);

// The triggers of one ScaledObject: on engines, a queue, GPUs and a costly reading.
std::map<std::string, std::string> MetadataOfTrigger(size_t index) {
  const std::string name = absl::StrCat("trigger-", index);
  switch (index % 4) {
    case 0:
      return {{"profile", "vllm-inference"}, {"workload", "llama"}, {"metricName", name}};
    case 1:
      return {{"metricType", "redis_list_length"},
              {"redisAddress", "redis:6379"},
              {"redisList", "jobs"},
              {"jobsPerReplica", "5"},
              {"metricName", name}};
    case 2:
      return {{"metricType", "gpu_utilization"}, {"workload", "llama"}, {"metricName", name}};
    default:
      return {{"metricType", "pcie_tx_kbps"},
              {"workload", "llama"},
              {"targetValue", "1000"},
              {"metricName", name}};
  }
}

externalscaler::ScaledObjectRef RefOfTrigger(size_t index) {
  externalscaler::ScaledObjectRef ref = RefOf(MetadataOfTrigger(index));
  ref.set_namespace_("team-a");
  return ref;
}

TriggerKey KeyOfTrigger(size_t index) {
  return {.namespace_name = "team-a",
          .scaled_object = "llm",
          .trigger = absl::StrCat("trigger-", index)};
}

// A node with two replicas. Their load changes every 7 minutes. Every 40 minutes a third pod begins
// and never becomes ready, so that decisions look back farther.
class Node {
 public:
  struct Readings {
    NodeSnapshot gpus;
    std::vector<EngineUpdate> engines;
    double queue_length = 0;
  };

  void Read(absl::Time now) {
    const int64_t minute = absl::ToUnixSeconds(now) / 60;
    const auto load = static_cast<double>(minute / 7 * 37 % 80);
    Readings readings{.gpus = SnapshotOf(minute % 40 / 4 == 2 ? 3 : kEngines, now, kNode),
                      .engines = {},
                      .queue_length = load};
    AddPods(readings.gpus);
    for (GpuSample& gpu : readings.gpus.gpus.Own()) {
      gpu.utilization_percent = gpu.index < kEngines ? load : 0;
      gpu.pcie_tx_kbps = 10 * load;
    }
    if (readings.gpus.pods.size() > kEngines) {
      Pod& starting = readings.gpus.pods.back();
      starting.name = absl::StrCat("llama-7d9c5b8f4-", minute / 40);
      starting.uid = absl::StrCat("uid-", minute / 40);
      starting.ready = starting.was_ready = false;
      starting.listed_since = absl::FromUnixSeconds(minute / 4 * 4 * 60);
    }
    memory_.Annotate(readings.gpus);
    for (ServedEngine& engine : engines_) readings.engines.push_back(engine.Read(now, load / 4));
    past_.push_back(std::move(readings));
    const absl::Time kept = now - kLongestWindow - kStaleAfter;
    while (past_.front().gpus.taken_at < kept) past_.pop_front();
  }

  // The readings that an agent keeps, oldest first.
  const std::deque<Readings>& past() const { return past_; }

  static EngineAddress AddressOf(size_t engine) {
    return {.address = absl::StrCat("10.1.7.", engine + 10),
            .port = 8000,
            .namespace_name = "team-a",
            .pod = absl::StrCat("llama-7d9c5b8f4-x2k", engine)};
  }

 private:
  std::array<ServedEngine, kEngines> engines_;
  MemoryWatch memory_;
  std::deque<Readings> past_;
};

// Receives the readings of a node and of a queue, as far as it has leases.
class Aggregator {
 public:
  // Both must outlive it.
  Aggregator(const FakeClock& clock, const Node& node) : clock_(clock), node_(node) {
    fleet_.Listed(std::vector<std::string>{kAgent});
    SendGpus(node_.past().begin());
  }
  ~Aggregator() {
    fleet_.Close();
    service_.StopStreams();
    server_->Drain(absl::Seconds(5));
  }

  void GetMetrics(size_t trigger) {
    first_calls_.try_emplace(trigger, clock_.Now());
    (void)client_.GetMetrics(RefOfTrigger(trigger));
  }
  void IsActive(size_t trigger) {
    first_calls_.try_emplace(trigger, clock_.Now());
    (void)client_.IsActive(RefOfTrigger(trigger));
  }
  // Empty: there was none.
  std::optional<absl::Time> FirstCall(size_t trigger) const {
    const auto found = first_calls_.find(trigger);
    return found == first_calls_.end() ? std::nullopt : std::optional(found->second);
  }

  void Receive() {
    SendGpus(node_.past().end() - 1);
    for (const std::string& agent : fleet_.AgentsToReplay()) {
      fleet_.BeginReplay(agent);
      SendGpus(node_.past().begin());
    }
    SendSignals();
  }
  void Record() { recorder_.Tick(); }

  size_t CountLive() const { return service_.LiveTriggers().size(); }
  bool ReadsPcie() const { return leases_.Subscription(clock_.Now()).pcie; }
  bool ReadsEngines() { return !found_.Subscription(clock_.Now()).namespaces.empty(); }
  std::vector<SignalSource> Queues() {
    std::vector<SignalSource> queues;
    for (const LeasedSource& leased : signals_.LeasedSources(clock_.Now())) {
      if (std::holds_alternative<RedisQueue>(leased.source.target)) queues.push_back(leased.source);
    }
    return queues;
  }

  const TriggerHistory& history() const { return history_; }
  std::vector<HistoryPoint> Points(size_t trigger, absl::Time from) const {
    const auto series = history_.Read(KeyOfTrigger(trigger), from, clock_.Now() - kHistoryStep);
    EXPECT_TRUE(series.ok()) << series.status();
    return series.ok() ? series->points : std::vector<HistoryPoint>();
  }

 private:
  using Past = std::deque<Node::Readings>::const_iterator;

  void SendGpus(Past from) {
    AgentUpdate update{.node = kNode, .instance = 1, .received_at = clock_.Now()};
    for (; from != node_.past().end(); ++from) {
      update.readings.push_back({.previous_confirmed_at = std::nullopt, .snapshot = from->gpus});
    }
    fleet_.Received(kAgent, std::move(update));
  }

  void SendSignals() {
    SendEngines();
    for (const SignalSource& queue : Queues()) {
      signals_.AddQueueLength(queue, CounterPoint{.instant = {.at = clock_.Now()},
                                                  .value = node_.past().back().queue_length});
    }
  }

  // A new subscription gets the past too.
  void SendEngines() {
    const absl::Time now = clock_.Now();
    const EngineSubscription subscription = found_.Subscription(now);
    found_.SetNodes(subscription, {kNode}, now);
    const bool was_subscribed = std::exchange(is_subscribed_, !subscription.namespaces.empty());
    if (!is_subscribed_) return;
    NodeEngines engines{.namespaces = {{"team-a", {}}}};
    for (size_t i = 0; i < kEngines; ++i) engines.Add(Node::AddressOf(i));
    found_.SetEngines(kNode, engines, now);
    const std::deque<Node::Readings>& past = node_.past();
    for (Past each = was_subscribed ? past.end() - 1 : past.begin(); each != past.end(); ++each) {
      for (size_t i = 0; i < kEngines; ++i) {
        found_.AddReading(kNode, Node::AddressOf(i), each->engines[i]);
      }
    }
  }

  static std::unique_ptr<GrpcServer> Serve(Methods methods) {
    auto server = GrpcServer::Start({.bind_address = "127.0.0.1"}, {}, std::move(methods));
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  const FakeClock& clock_;
  const Node& node_;
  std::map<size_t, absl::Time> first_calls_;
  bool is_subscribed_ = false;
  CountedRequests counted_;
  ProfileStore profiles_{""};
  Leases leases_;
  FleetStore fleet_{
      clock_,
      {.timeouts = {.stale_after = kStaleAfter},
       .limits = {.horizon = kLongestWindow + kStaleAfter, .join_within = kStaleAfter},
       .leases = &leases_}};
  SignalStore signals_{{.max_gap = kStaleAfter}, [this] { SendSignals(); }};
  FoundEngines found_{signals_};
  ScalerService service_{{.stale_after = kStaleAfter,
                          .expected_gap = Config().max_connection_age,
                          .snapshot_timeout = absl::Milliseconds(1)},
                         clock_,
                         fleet_,
                         leases_,
                         profiles_,
                         counted_,
                         [] {},
                         {.store = &signals_, .finds_engines = true}};
  const std::unique_ptr<GrpcServer> server_ = Serve(service_.methods());
  TestScalerClient client_{{.address = absl::StrCat("127.0.0.1:", server_->port())}};
  TriggerHistory history_{{}, clock_.Now()};
  HistoryRecorder recorder_{clock_, service_, history_};
};

// The servers of a client of grpc-go with round_robin. A connection that begins makes the next
// server a random one.
class RoundRobin {
 public:
  void ConnectAnew(absl::Time now) {
    for (absl::Time& end : ends_) {
      if (now < end) continue;
      end = now + Config().max_connection_age * std::uniform_real_distribution<>(0.9, 1.1)(random_);
      next_ = random_() % ends_.size();
    }
  }
  void Restart(size_t server) { ends_[server] = absl::InfinitePast(); }
  size_t Next() { return next_++ % ends_.size(); }

 private:
  std::mt19937 random_{4};  // NOLINT(cert-msc51-cpp): the same in each run
  std::array<absl::Time, 2> ends_ = {absl::InfinitePast(), absl::InfinitePast()};
  size_t next_ = 0;
};

struct Polls {
  const char* name;
  size_t triggers;
  absl::Duration interval;
  // KEDA calls GetMetricSpec, GetMetrics and IsActive for each trigger (getScalerState() of KEDA
  // 2.21). A poll does so for all triggers of a ScaledObject at once. In the worst case the two
  // servers get these calls in turn: with an even number of triggers each trigger has one server.
  bool alternate;
};

class Cluster {
 public:
  Cluster() {
    node_.Read(clock_.Now());
    for (auto& each : aggregators_) each = std::make_unique<Aggregator>(clock_, node_);
  }

  void RunFor(absl::Duration duration, const Polls& polls) {
    const absl::Time begin = clock_.Now();
    for (absl::Time poll = begin; clock_.Now() < begin + duration;) {
      round_robin_.ConnectAnew(clock_.Now());
      if (clock_.Now() >= poll) {
        Poll(polls);
        poll += polls.interval;
      }
      Step();
    }
  }

  // One step of the history.
  void Step() {
    for (int tick = 0; tick < 2; ++tick) {
      for (auto& each : aggregators_) each->Record();
      clock_.Advance(kHistoryStep / 2);
    }
    node_.Read(clock_.Now());
    for (auto& each : aggregators_) each->Receive();
  }

  void Restart(size_t server) {
    aggregators_[server] = std::make_unique<Aggregator>(clock_, node_);
    round_robin_.Restart(server);
  }

  FakeClock& clock() { return clock_; }
  Aggregator& aggregator(size_t server) { return *aggregators_[server]; }

 private:
  void Poll(const Polls& polls) {
    constexpr size_t kCalls = 3;
    for (size_t i = 0; i < polls.triggers * kCalls; ++i) {
      const size_t trigger = polls.alternate ? i % polls.triggers : i / kCalls;
      const size_t call = polls.alternate ? i / polls.triggers : i % kCalls;
      Aggregator& server = *aggregators_[round_robin_.Next()];
      if (call == 1) server.GetMetrics(trigger);
      if (call == 2) server.IsActive(trigger);  // GetMetricSpec only takes a turn
    }
  }

  FakeClock clock_;
  Node node_;
  RoundRobin round_robin_;
  std::array<std::unique_ptr<Aggregator>, 2> aggregators_;
};

// Counts the points since the first call for the trigger at the aggregator.
struct Coverage {
  int steps = 0;
  int missing = 0;
  int errors = 0;
};

Coverage CoverageOf(const Aggregator& aggregator, size_t trigger) {
  Coverage coverage;
  const auto first_call = aggregator.FirstCall(trigger);
  if (!first_call.has_value()) return coverage;
  for (const HistoryPoint& point : aggregator.Points(trigger, *first_call)) {
    ++coverage.steps;
    if (!point.code.has_value()) ++coverage.missing;
    if (point.code.value_or(absl::StatusCode::kOk) != absl::StatusCode::kOk) ++coverage.errors;
  }
  return coverage;
}

// Empty: none was kept at that time.
std::optional<std::string> ExplanationOf(const Aggregator& aggregator, size_t trigger,
                                         absl::Time at) {
  const TriggerKey key = KeyOfTrigger(trigger);
  if (aggregator.history().ExplanationTimes(key, at, at).empty()) return std::nullopt;
  const auto kept = aggregator.history().ExplanationAt(key, at);
  EXPECT_TRUE(kept.ok()) << kept.status();
  return kept.ok() ? std::optional(kept->explanation.text()) : std::nullopt;
}

// Returns how many of the explanations that both kept at the same time are equal. Expects that all
// are, and all points that both recorded.
int CompareHistories(Cluster& cluster, size_t trigger) {
  const Aggregator& a = cluster.aggregator(0);
  const Aggregator& b = cluster.aggregator(1);
  const absl::Time from = std::max(a.history().started_at(), b.history().started_at());
  const std::vector<HistoryPoint> of_a = a.Points(trigger, from);
  const std::vector<HistoryPoint> of_b = b.Points(trigger, from);
  EXPECT_EQ(of_a.size(), of_b.size());
  int equal = 0;
  for (size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i) {
    if (!of_a[i].code.has_value() || !of_b[i].code.has_value()) continue;
    const absl::Time at = of_a[i].at;
    EXPECT_TRUE(of_a[i] == of_b[i])
        << "trigger " << trigger << " after " << at - from << ": " << of_a[i].value.value_or(-1)
        << " and " << of_b[i].value.value_or(-1);
    const auto why_a = ExplanationOf(a, trigger, at);
    const auto why_b = ExplanationOf(b, trigger, at);
    if (!why_a.has_value() || !why_b.has_value()) continue;
    EXPECT_EQ(*why_a, *why_b);
    ++equal;
  }
  return equal;
}

// GetMetrics and IsActive of a trigger go to different aggregators.
TEST(TwoAggregatorsTest, BothRecordEachStepFromTheFirstPoll) {
  const std::array<Polls, 4> cases = {
      Polls{.name = "one", .triggers = 1, .interval = absl::Seconds(15), .alternate = false},
      Polls{.name = "two", .triggers = 2, .interval = absl::Seconds(30), .alternate = false},
      Polls{.name = "three", .triggers = 3, .interval = absl::Seconds(30), .alternate = true},
      Polls{.name = "twenty", .triggers = 20, .interval = absl::Minutes(1), .alternate = false}};
  for (const Polls& polls : cases) {
    SCOPED_TRACE(polls.name);
    Cluster cluster;
    const absl::Duration duration = absl::Minutes(polls.triggers > 3 ? 10 : 20);
    cluster.RunFor(duration, polls);
    for (size_t trigger = 0; trigger < polls.triggers; ++trigger) {
      for (size_t server = 0; server < 2; ++server) {
        const Coverage coverage = CoverageOf(cluster.aggregator(server), trigger);
        EXPECT_EQ(coverage.steps, duration / kHistoryStep);
        EXPECT_EQ(coverage.missing, 0);
        EXPECT_EQ(coverage.errors, 0);
      }
      EXPECT_GT(CompareHistories(cluster, trigger), 0);
    }
  }
}

// All calls for a trigger go to one aggregator until KEDA connects anew. The other one may get its
// first call late, and cannot evaluate a trigger before. 9 of 10 runs with other seeds have all
// steps from then on too. None would if only past gaps counted for the lease.
TEST(TwoAggregatorsTest, BothRecordWhileOneGetsAllCallsForATrigger) {
  const Polls polls{.name = "pair", .triggers = 2, .interval = absl::Minutes(1), .alternate = true};
  Cluster cluster;
  cluster.RunFor(absl::Hours(3), polls);
  const auto expect_covered = [&](size_t server) {
    for (size_t trigger = 0; trigger < polls.triggers; ++trigger) {
      const Coverage coverage = CoverageOf(cluster.aggregator(server), trigger);
      EXPECT_GT(coverage.steps, absl::Hours(2) / kHistoryStep) << "its first call was late";
      EXPECT_EQ(coverage.missing, 0) << "of " << coverage.steps;
      EXPECT_EQ(coverage.errors, 0);
    }
  };
  expect_covered(1);
  cluster.Restart(1);
  cluster.RunFor(absl::Hours(3), polls);
  for (size_t server : {0, 1}) expect_covered(server);
  for (size_t trigger = 0; trigger < polls.triggers; ++trigger) {
    EXPECT_GT(CompareHistories(cluster, trigger), 0);
  }
}

TEST(TwoAggregatorsTest, SourcesAreReadAsLongAsTheirTriggersAreLive) {
  Cluster cluster;
  Aggregator& aggregator = cluster.aggregator(0);
  for (size_t trigger = 0; trigger < 4; ++trigger) aggregator.GetMetrics(trigger);
  const absl::Time requested_at = cluster.clock().Now();
  while (aggregator.CountLive() > 0 && cluster.clock().Now() < requested_at + kLongestLease) {
    EXPECT_EQ(aggregator.CountLive(), 4u);
    EXPECT_TRUE(aggregator.ReadsEngines());
    EXPECT_TRUE(aggregator.ReadsPcie());
    EXPECT_EQ(aggregator.Queues().size(), 1u);
    cluster.Step();
  }
  EXPECT_FALSE(aggregator.ReadsEngines());
  EXPECT_FALSE(aggregator.ReadsPcie());
  EXPECT_TRUE(aggregator.Queues().empty());
  EXPECT_EQ(cluster.clock().Now() - requested_at, 3 * Config().max_connection_age);
  for (size_t trigger = 0; trigger < 4; ++trigger) {
    const Coverage coverage = CoverageOf(aggregator, trigger);
    EXPECT_EQ(coverage.missing, 0);
    EXPECT_EQ(coverage.errors, 0);
  }
}

}  // namespace
}  // namespace gpuscaler

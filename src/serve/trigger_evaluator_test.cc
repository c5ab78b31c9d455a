// The cache of decisions with engines and queues, and the log of ambiguous workloads.
#include "serve/trigger_evaluator.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_random.h"
#include "serve/test_served_scaler.h"
#include "serve/trigger_cache.h"
#include "signal/found_engines.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

const StalenessLimits kEngineStaleness{
    .stale_after = absl::Seconds(6), .grace = absl::Seconds(15), .forget_after = absl::Seconds(40)};

// A pod with one GPU and one engine. All are in one namespace.
struct EnginePod {
  std::string node;
  std::string workload;
  EngineAddress place;
};

std::vector<EnginePod> PodsOfTwoWorkloads() {
  std::vector<EnginePod> pods;
  for (int i = 0; i < 4; ++i) {
    const std::string workload = i % 2 == 0 ? "chat" : "llm";
    pods.push_back({.node = absl::StrCat("gpu-", i / 2),
                    .workload = workload,
                    .place = {.address = absl::StrCat("10.0.0.", i),
                              .port = 8000,
                              .namespace_name = "team-a",
                              .pod = absl::StrCat(workload, "-", i / 2)}});
  }
  return pods;
}

externalscaler::ScaledObjectRef RefInTeamA(const std::map<std::string, std::string>& metadata) {
  externalscaler::ScaledObjectRef ref = RefOf(metadata);
  ref.set_namespace_("team-a");
  return ref;
}

// A TriggerEvaluator with agents, engines and a queue, which send the readings that a test
// provides.
class EvaluatorFixture {
 public:
  EvaluatorFixture() { store_.Listed(std::vector<std::string>{"gpu-0:1", "gpu-1:1"}); }

  // Takes effect with the node's next snapshot.
  void SetOwner(size_t pod, const std::string& workload) { pods_[pod].workload = workload; }

  void ReportNode(const std::string& node, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(2, clock_.Now(), node);
    AddPods(snapshot);
    size_t next = 0;
    for (const EnginePod& pod : pods_) {
      if (pod.node != node) continue;
      snapshot.gpus[next].utilization_percent = utilization_percent;
      snapshot.gpus[next].uuid = absl::StrCat("GPU-", pod.place.address);
      Pod& held = snapshot.pods[next++];
      held.namespace_name = "team-a";
      held.name = pod.place.pod;
      held.address = pod.place.address;
      held.owners[0].name = pod.workload;
    }
    AgentUpdate update{
        .node = node, .instance = std::hash<std::string>()(node), .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat(node, ":1"), std::move(update));
  }

  // The node's engines are in the pods with a true element.
  void ListEngines(const std::string& node, const std::vector<bool>& found) {
    NodeEngines engines{.namespaces = {{"team-a", {}}}};
    for (size_t i = 0; i < pods_.size(); ++i) {
      if (pods_[i].node == node && found[i]) engines.Add(pods_[i].place);
    }
    found_.SetEngines(node, engines, clock_.Now());
  }

  void ReportEngine(size_t pod, absl::StatusOr<EngineReading> reading) {
    found_.AddReading(pods_[pod].node, pods_[pod].place,
                      {.at = clock_.Now(), .engine = "vllm", .reading = std::move(reading)});
  }
  static EngineReading Requests(double waiting, double running) {
    return {{{.model = "llama", .waiting = waiting, .running = running}}};
  }

  void SetNodes() {
    store_.Tick();
    found_.SetNodes(found_.Subscription(clock_.Now()), {"gpu-0", "gpu-1"}, clock_.Now());
  }

  TriggerEvaluator::EvaluationOr Evaluate(DecisionPart part, TriggerEntry& trigger) {
    const TriggerEvaluator::Parsed parsed = evaluator_.Parse(trigger);
    evaluator_.RecordRequest(trigger, *parsed);
    return evaluator_.Try(part, trigger, parsed);
  }

  // A decision without any cache, or nothing if readings are awaited.
  std::optional<Decision> DecideUncached(TriggerEntry& trigger) {
    const TriggerEvaluator::Parsed parsed = evaluator_.Parse(trigger);
    SignalHistory signals = signals_.HistoryOf(
        *parsed->source, SourceQueryOf(*parsed->trigger, kEngineStaleness), clock_.Now());
    const auto fleet = store_.NodesFor(parsed->wanted);
    if (!fleet.ok()) return std::nullopt;
    FleetHistory nodes = parsed->NeedsNodes() ? **fleet : FleetHistory();
    nodes.now = clock_.Now();
    MarkAwaited([](const std::string&) { return true; }, signals);
    if (signals.is_awaited) return std::nullopt;
    return Decide(*parsed->trigger, trigger.scaled_object(), nodes, &signals, kEngineStaleness);
  }

  FakeClock& clock() { return clock_; }
  SignalStore& signals() { return signals_; }
  int decided() { return counted_.decided(Outcome::kValue); }
  size_t pods() const { return pods_.size(); }

 private:
  std::vector<EnginePod> pods_ = PodsOfTwoWorkloads();
  FakeClock clock_;
  FleetStore store_{
      clock_,
      {.timeouts = {.grace = kEngineStaleness.grace},
       .limits = {.horizon = absl::Minutes(15), .join_within = kEngineStaleness.stale_after}}};
  CountedRequests counted_;
  Leases leases_;
  ProfileStore profiles_{"/nonexistent/profiles.yaml"};
  SignalStore signals_{{.max_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{signals_};
  TriggerEvaluator evaluator_{
      kEngineStaleness, clock_,   store_, leases_,
      profiles_,        counted_, [] {},  {.store = &signals_, .finds_engines = true}};
};

externalscaler::ScaledObjectRef InFlightRef(const std::string& workload,
                                            const std::string& window) {
  return RefInTeamA({{"metricType", "requests_in_flight"},
                     {"workload", workload},
                     {"window", window},
                     {"activationWindow", "20s"}});
}

externalscaler::ScaledObjectRef QueueRef() {
  return RefInTeamA({{"metricType", "redis_list_length"},
                     {"redisAddress", "redis:6379"},
                     {"redisList", "jobs"},
                     {"window", "8s"},
                     {"jobsPerReplica", "5"}});
}

TEST(TriggerEvaluator, ReadingsOfOtherWorkloadsEnginesCauseNoDecision) {
  EvaluatorFixture fixture;
  TriggerEntry llm(InFlightRef("llm", "0s"));
  fixture.ReportNode("gpu-0", 60);
  fixture.ReportNode("gpu-1", 60);
  EXPECT_FALSE(fixture.Evaluate(DecisionPart::kAll, llm).ok()) << "no engine is read yet";
  fixture.SetNodes();
  fixture.ListEngines("gpu-0", {true, true, true, true});
  fixture.ListEngines("gpu-1", {true, true, true, true});
  for (size_t pod = 0; pod < fixture.pods(); ++pod)
    fixture.ReportEngine(pod, EvaluatorFixture::Requests(0, 5));
  const TriggerEvaluator::EvaluationOr first = fixture.Evaluate(DecisionPart::kAll, llm);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->cached->decision.value, 10);
  const int decided = fixture.decided();

  fixture.clock().Advance(absl::Seconds(1));
  fixture.ReportEngine(0, EvaluatorFixture::Requests(7, 5));
  fixture.ReportEngine(2, absl::UnavailableError("connection refused"));
  const TriggerEvaluator::EvaluationOr second = fixture.Evaluate(DecisionPart::kAll, llm);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->cached, first->cached);
  EXPECT_EQ(fixture.decided(), decided);

  fixture.ReportEngine(1, EvaluatorFixture::Requests(7, 5));
  const TriggerEvaluator::EvaluationOr third = fixture.Evaluate(DecisionPart::kAll, llm);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ(third->cached->decision.value, 17);
  EXPECT_EQ(fixture.decided(), decided + 1);
}

// Advances the clock by one step, and lets random nodes, engines and the queue report.
void AdvanceRandomly(Random& random, EvaluatorFixture& fixture) {
  constexpr std::array<int, 6> kSteps = {5, 200, 800, 1000, 3000, 7000};
  fixture.clock().Advance(
      absl::Milliseconds(kSteps[static_cast<size_t>(random.Whole(0, kSteps.size() - 1))]));
  for (const std::string node : {"gpu-0", "gpu-1"}) {
    if (random.Whole(0, 3) == 0)
      fixture.ReportNode(node, random.ThreeInFour() ? 0 : random.Whole(0, 100));
    if (random.Whole(0, 19) > 0) continue;
    fixture.ListEngines(node, {random.ThreeInFour(), random.ThreeInFour(), random.ThreeInFour(),
                               random.ThreeInFour()});
  }
  for (size_t pod = 0; pod < fixture.pods(); ++pod) {
    if (random.Whole(0, 3) > 0) continue;
    if (random.ThreeInFour()) {
      fixture.ReportEngine(
          pod, EvaluatorFixture::Requests(random.Whole(0, 1),
                                          random.ThreeInFour() ? 0 : random.Whole(0, 9)));
    } else {
      fixture.ReportEngine(pod, absl::UnavailableError("connection refused"));
    }
  }
  if (random.Whole(0, 3) == 0) {
    const SignalSource queue{
        .namespace_name = "team-a",
        .target = RedisQueue{
            .address = "redis:6379", .length = RedisQueue::Length::kList, .key = "jobs"}};
    const CounterPoint length{.instant = {.at = fixture.clock().Now()},
                              .value = static_cast<double>(random.Whole(0, 3))};
    if (random.ThreeInFour()) {
      fixture.signals().AddQueueLength(queue, length);
    } else {
      fixture.signals().AddQueueLength(queue, absl::UnavailableError("connection refused"));
    }
  }
  fixture.SetNodes();
}

TEST(TriggerEvaluator, CachedDecisionEqualsANewOne) {
  int cached = 0;
  int fresh = 0;
  ForManySeeds([&](Random& random) {
    EvaluatorFixture fixture;
    fixture.ReportNode("gpu-0", 50);
    fixture.ReportNode("gpu-1", 50);
    std::vector<std::unique_ptr<TriggerEntry>> triggers;
    for (const externalscaler::ScaledObjectRef& ref :
         {InFlightRef("llm", "0s"), InFlightRef("chat", "10s"), QueueRef(),
          RefInTeamA({{"profile", "vllm-inference"}, {"workload", "chat"}})}) {
      triggers.push_back(std::make_unique<TriggerEntry>(ref));
      EXPECT_FALSE(fixture.Evaluate(DecisionPart::kAll, *triggers.back()).ok())
          << "nothing is read yet";
    }
    fixture.SetNodes();
    fixture.ListEngines("gpu-0", {true, true, true, true});
    fixture.ListEngines("gpu-1", {true, true, true, true});
    for (int step = 0; step < 40 && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      AdvanceRandomly(random, fixture);
      for (size_t i = 0; i < triggers.size(); ++i) {
        SCOPED_TRACE(i);
        const DecisionPart part =
            random.ThreeInFour() ? DecisionPart::kAll : DecisionPart::kActivity;
        const TriggerEvaluator::EvaluationOr evaluated = fixture.Evaluate(part, *triggers[i]);
        const std::optional<Decision> want = fixture.DecideUncached(*triggers[i]);
        if (!evaluated.ok() || !want.has_value()) continue;
        (evaluated->is_new ? fresh : cached) += 1;
        const Decision& got = evaluated->cached->decision;
        EXPECT_EQ(got.status.code(), want->status.code()) << got.status << want->status;
        EXPECT_EQ(got.active, want->active) << got.active_because << "; " << want->active_because;
        if (part == DecisionPart::kActivity) continue;
        EXPECT_EQ(got.value, want->value);
        EXPECT_EQ(got.replicas, want->replicas);
        EXPECT_EQ(got.unreadable, want->unreadable);
        EXPECT_EQ(got.starting, want->starting);
        EXPECT_EQ(got.frozen, want->frozen);
      }
    }
  });
  EXPECT_GT(cached, 3000 / kPartOfSeeds);
  EXPECT_GT(fresh, 3000 / kPartOfSeeds);
}

// Evaluates the trigger `times`, a second apart, and returns the log. `before` may change the pods'
// owners each time.
std::string LogOfEvaluations(
    EvaluatorFixture& fixture, TriggerEntry& trigger, int times = 3,
    const std::function<void(int)>& before = [](int) {}) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < times; ++i) {
    before(i);
    fixture.ReportNode("gpu-0", 60);
    fixture.ReportNode("gpu-1", 60);
    const TriggerEvaluator::EvaluationOr evaluated = fixture.Evaluate(DecisionPart::kAll, trigger);
    EXPECT_TRUE(evaluated.ok()) << evaluated.status();
    fixture.clock().Advance(absl::Seconds(1));
  }
  return testing::internal::GetCapturedStderr();
}

int AmbiguitiesIn(const std::string& log) {
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (absl::StrContains(line, "event=trigger_ambiguous")) ++lines;
  }
  return lines;
}

TEST(TriggerEvaluator, WorkloadWithoutPodsIsLoggedOnce) {
  EvaluatorFixture fixture;
  TriggerEntry wrong_kind(RefInTeamA({{"workload", "StatefulSet/llm"}}));
  const std::string log = LogOfEvaluations(fixture, wrong_kind);
  EXPECT_THAT(log, testing::HasSubstr("level=warn event=trigger_ambiguous namespace=team-a "));
  EXPECT_THAT(log, testing::HasSubstr("no pods of StatefulSet/llm hold GPUs"));
  EXPECT_THAT(log, testing::HasSubstr("is Deployment/llm meant?"));
  EXPECT_EQ(AmbiguitiesIn(log), 1) << log;
  EXPECT_EQ(LogOfEvaluations(fixture, wrong_kind), "");
  TriggerEntry correct(RefInTeamA({{"workload", "Deployment/llm"}}));
  EXPECT_EQ(LogOfEvaluations(fixture, correct), "");
}

// Evaluates the trigger while the owner of pod 0, or of all pods, alternates. Adds the first note
// of each decision to `notes`.
std::string LogOfAlternatingOwners(TriggerEntry& trigger, bool all, std::set<std::string>& notes) {
  EvaluatorFixture fixture;
  return LogOfEvaluations(fixture, trigger, 10, [&](int i) {
    if (i > 0) notes.insert(trigger.cached()->decision.notes.front());
    for (size_t pod = 0; pod < (all ? fixture.pods() : 1); ++pod) {
      fixture.SetOwner(pod, absl::StrCat("job-", i % 2));
    }
  });
}

TEST(TriggerEvaluator, AlternatingJobsCauseNoSecondAmbiguity) {
  TriggerEntry asleep(RefInTeamA({{"podRegex", "asleep-.*"}}));
  std::set<std::string> notes;
  const std::string log = LogOfAlternatingOwners(asleep, /*all=*/false, notes);
  EXPECT_EQ(notes.size(), 2u) << "the explanation names the present holders";
  EXPECT_EQ(AmbiguitiesIn(log), 1) << log;
}

TEST(TriggerEvaluator, AlternatingOnlyOwnersAreLoggedOnce) {
  externalscaler::ScaledObjectRef ref = RefInTeamA({});
  ref.set_name("gateway");
  TriggerEntry without_workload(ref);
  std::set<std::string> notes;
  const std::string log = LogOfAlternatingOwners(without_workload, /*all=*/true, notes);
  EXPECT_GE(notes.size(), 2u);
  EXPECT_EQ(AmbiguitiesIn(log), 1) << log;
  EXPECT_THAT(log, testing::HasSubstr("the only owner of GPU pods in namespace team-a"));
}

}  // namespace
}  // namespace gpuscaler

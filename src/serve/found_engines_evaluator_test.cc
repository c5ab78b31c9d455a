// Decisions on discovered engines while not every node has reported its own.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/test_fleet_fixture.h"
#include "serve/trigger_evaluator.h"
#include "signal/found_engines.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TriggerEvaluatorOfFoundEnginesTest : public FleetFixture {
 protected:
  // A pod of `workload` in namespace crowd holds the only GPU of the node.
  void ReportReplica(const std::string& node, const std::string& workload, const std::string& pod) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), node);
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = "crowd";
    snapshot.pods[0].name = pod;
    snapshot.pods[0].owners[0].name = workload;
    Send(node, std::move(snapshot));
  }

  absl::StatusOr<double> InFlightOf(const std::string& workload) {
    return ValueOf({{"metricType", "requests_in_flight"}, {"workload", workload}});
  }

  absl::StatusOr<double> ValueOf(const std::map<std::string, std::string>& metadata) {
    const auto trigger = cache_.Get(RefIn("crowd", metadata));
    const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger);
    evaluator_.RecordRequest(*trigger, *parsed);
    const TriggerEvaluator::EvaluationOr evaluated =
        evaluator_.Try(DecisionPart::kAll, *trigger, parsed);
    if (!evaluated.ok()) return evaluated.status();
    const Decision& decision = evaluated->cached->decision;
    if (!decision.status.ok()) return decision.status;
    return decision.value;
  }

  // The notes of a decision for a trigger without a profile.
  std::vector<std::string> NotesOf(const std::string& workload) {
    const auto trigger = cache_.Get(RefIn("crowd", {{"workload", workload}}));
    const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger);
    evaluator_.RecordRequest(*trigger, *parsed);
    const TriggerEvaluator::EvaluationOr evaluated =
        evaluator_.Try(DecisionPart::kAll, *trigger, parsed);
    EXPECT_TRUE(evaluated.ok()) << evaluated.status();
    return evaluated.ok() ? evaluated->cached->decision.notes : std::vector<std::string>();
  }

  bool RecordRequestBlocks(const std::string& workload) {
    const auto trigger = cache_.Get(RefIn("crowd", {{"workload", workload}}));
    return evaluator_.RecordRequestBlocks(*trigger, *evaluator_.Parse(*trigger));
  }

  SignalStore signals_{{.max_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{signals_};
  TriggerCache cache_{{}};
  TriggerEvaluator evaluator_{{.stale_after = kSixSeconds, .grace = absl::Seconds(15)},
                              clock_,
                              queries_,
                              leases_,
                              profiles_,
                              counted_,
                              [] {},
                              {.store = &signals_, .finds_engines = true}};
};

TEST_F(TriggerEvaluatorOfFoundEnginesTest, NodeWithoutAReportDelaysOnlyItsWorkloads) {
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "gpu-1:1", "gpu-2:1"});
  ReportReplica("gpu-1", "chat", "chat-0");
  ReportReplica("gpu-2", "llm", "llm-0");
  EXPECT_EQ(InFlightOf("chat").status().code(), absl::StatusCode::kUnavailable);
  found_.SetNodes(found_.Subscription(clock_.Now()), {"gpu-1", "gpu-2"}, clock_.Now());
  const EngineAddress chat{
      .address = "10.0.0.1", .port = 8000, .namespace_name = "crowd", .pod = "chat-0"};
  found_.SetEngines("gpu-1", NodeEngines{.namespaces = {{"crowd", {.engines = {chat}}}}},
                    clock_.Now());
  found_.AddReading("gpu-1", chat,
                    {.at = clock_.Now(),
                     .engine = "vllm",
                     .reading = EngineReading{{{.model = "llama", .waiting = 1, .running = 2}}}});
  const absl::StatusOr<double> in_flight = InFlightOf("chat");
  ASSERT_TRUE(in_flight.ok()) << in_flight.status();
  EXPECT_EQ(*in_flight, 3);
  EXPECT_EQ(InFlightOf("llm").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(InFlightOf("idle").value_or(-1), 0) << "it has no pod";
}

// Any node may have the records of its engines.
TEST_F(TriggerEvaluatorOfFoundEnginesTest, WorkloadThatSleepsBehindAGatewayAwaitsAllNodes) {
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "gpu-1:1"});
  ReportReplica("gpu-1", "chat", "chat-0");
  const SignalSource gateway{
      .namespace_name = "crowd",
      .target = MetricsEndpoint{.url = "http://gateway:9090/metrics", .selector = "queue_size"}};
  const std::map<std::string, std::string> metadata = {
      {"profile", "vllm-inference"},
      {"workload", "llm"},
      {"maxConcurrency", "64"},
      {"gatewayUrl", "http://gateway:9090/metrics"},
      {"prometheusMetric", "queue_size"}};
  EXPECT_EQ(ValueOf(metadata).status().code(), absl::StatusCode::kUnavailable);
  signals_.SetEndpointAddresses(gateway, std::vector<std::string>{"10.0.0.9"});
  signals_.AddSample(gateway, "10.0.0.9",
                     CounterPoint{.instant = {.at = clock_.Now()}, .value = 5});
  found_.SetNodes(found_.Subscription(clock_.Now()), {"gpu-1"}, clock_.Now());
  EXPECT_EQ(ValueOf(metadata).status().code(), absl::StatusCode::kUnavailable);
  found_.SetEngines("gpu-1", NodeEngines{.namespaces = {{"crowd", {}}}}, clock_.Now());
  EXPECT_EQ(ValueOf(metadata).value_or(-1), 80) << "no capacity is known: one replica";
}

TEST_F(TriggerEvaluatorOfFoundEnginesTest, EngineInItsPodsSuggestsAProfile) {
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "gpu-1:1", "gpu-2:1"});
  ReportReplica("gpu-1", "chat", "chat-0");
  ReportReplica("gpu-2", "llm", "llm-0");
  EXPECT_THAT(NotesOf("chat"), IsEmpty());
  EXPECT_FALSE(RecordRequestBlocks("chat")) << "it has just been looked for";
  clock_.Advance(absl::Seconds(1));
  found_.SetNodes(found_.Subscription(clock_.Now()), {"gpu-1", "gpu-2"}, clock_.Now());
  const EngineAddress chat{
      .address = "10.0.0.1", .port = 8000, .namespace_name = "crowd", .pod = "chat-0"};
  found_.SetEngines("gpu-1", NodeEngines{.namespaces = {{"crowd", {.engines = {chat}}}}},
                    clock_.Now());
  found_.AddReading("gpu-1", chat,
                    {.at = clock_.Now(),
                     .engine = "vllm",
                     .reading = EngineReading{{{.model = "llama", .waiting = 1, .running = 2}}}});
  EXPECT_THAT(NotesOf("chat"), ElementsAre("engines of vLLM found in this workload's pods: profile "
                                           "vllm-inference reads their requests and KV cache"));
  EXPECT_THAT(NotesOf("llm"), IsEmpty()) << "the engine is in another workload's pod";
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(RecordRequestBlocks("chat")) << "its engine is found";
  EXPECT_TRUE(RecordRequestBlocks("llm")) << "it is still looked for";
}

TEST_F(TriggerEvaluatorOfFoundEnginesTest, NewPodIsSearchedForEnginesAtOnce) {
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "gpu-1:1"});
  ReportReplica("gpu-1", "llm", "llm-0");
  EXPECT_THAT(NotesOf("llm"), IsEmpty());
  RepeatFor(absl::Minutes(1), 0, 0);
  ReportReplica("gpu-1", "llm", "llm-0");
  EXPECT_THAT(NotesOf("llm"), IsEmpty());
  EXPECT_FALSE(RecordRequestBlocks("llm")) << "a pause";
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "gpu-1:1", "gpu-2:1"});
  ReportReplica("gpu-2", "llm", "llm-1");
  EXPECT_THAT(NotesOf("llm"), IsEmpty());
  EXPECT_TRUE(RecordRequestBlocks("llm"));
}

}  // namespace
}  // namespace gpuscaler

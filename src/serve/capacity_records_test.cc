// An aggregator that was restarted returns the same demand as one that ran all along.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "engine/capacity_records.h"
#include "engine/demand_accumulator.h"
#include "engine/test_served_engine.h"
#include "fleet/engine_log.h"
#include "fleet/engine_update_reader.h"
#include "fleet/gpu_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_engine_workload_builder.h"
#include "signal/found_engines.h"

namespace gpuscaler {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

namespace wire = telemetry::v1;

constexpr char kNode[] = "gpu-7";
const SignalSource kFound{.namespace_name = "team-a", .target = DiscoveredEngines()};
const EngineQuery kQuery{.metric = EngineMetric::kPressurePercent,
                         .look_back = absl::Minutes(2),
                         .demand_window = absl::Minutes(15)};

Trigger WithGateway() {
  Trigger trigger = VllmInference();
  trigger.max_concurrency = 64;
  trigger.metrics_endpoint = {.url = "http://gateway:9090/metrics", .selector = "queue_size"};
  return trigger;
}

// A gateway that was read for five minutes, while `per_second` requests arrived.
std::shared_ptr<const SignalHistory> GatewayHolding(absl::Time now, double per_second) {
  SignalSeries series{.name = "gateway"};
  DemandAccumulator demand;
  for (int seconds = 0; seconds <= 300; ++seconds) {
    const absl::Time at = now - absl::Seconds(300 - seconds);
    demand.Take({.at = at, .waiting = per_second * seconds, .running = 0, .requests_done = 1});
    series.points.push_back({.at = at, .value = per_second * seconds});
  }
  series.demand = std::make_shared<const EngineDemand>(*demand.Sums());
  return std::make_shared<const SignalHistory>(
      SignalHistory{.now = now, .series = {std::move(series)}});
}

// An aggregator that reads the engines of one agent. Its clock is `clock_is_ahead` of the agent's.
class Aggregator {
 public:
  Aggregator(const EngineLog& log, absl::Duration clock_is_ahead, bool of_old_agent = false)
      : log_(log), ahead_(clock_is_ahead), of_old_agent_(of_old_agent) {}

  void Read(absl::Time agents_now) {
    now_ = agents_now + ahead_;
    EXPECT_TRUE(store_.Lease(kFound, kQuery, now_, now_ + absl::Hours(1)).ok());
    found_.SetNodes(found_.Subscription(now_), {kNode}, now_);
    cursor_.SetSubscription(Interest());
    do {
      wire::EngineTelemetry message;
      log_.AppendNew(cursor_, message);
      message.mutable_node()->set_name(kNode);
      message.set_sent_us(ToWire(agents_now));
      if (of_old_agent_) {
        message.mutable_list()->clear_left();
        for (wire::EngineReading& reading : *message.mutable_readings()) reading.clear_learnt();
      }
      more_ = message.more();
      const absl::Status read = reader_.Read(message, now_);
      EXPECT_TRUE(read.ok()) << read;
    } while (more_);
  }
  static EngineSubscription Interest() {
    EngineSubscription wanted;
    wanted.namespaces["team-a"] = {.look_back = absl::Minutes(15)};
    return wanted;
  }

  SignalHistory Signals() const { return store_.HistoryOf(kFound, kQuery, now_); }
  // Returns the demand while `node` has its pods and the gateway holds the requests of five
  // minutes.
  Demand DemandBehindGateway(NodeSnapshot node, double per_second) const {
    node.node = kNode;
    node.taken_at = now_;
    node.attribution.state = Attribution::State::kKnown;
    auto history = std::make_shared<NodeHistory>();
    history->Append(std::move(node), {.horizon = absl::Minutes(15)});
    FleetHistory fleet = FleetOfOne(history);
    fleet.now = now_;
    fleet.queries_kubelets = true;
    SignalHistory signals = Signals();
    signals.gateway = GatewayHolding(now_, per_second);
    const Decision decision =
        Decide(WithGateway(), {.namespace_name = "team-a", .name = "llm"}, fleet, &signals, {});
    EXPECT_TRUE(decision.status.ok()) << decision.status;
    return decision.demand.value_or(Demand());
  }

 private:
  const EngineLog& log_;
  const absl::Duration ahead_;
  const bool of_old_agent_;
  absl::Time now_;
  bool more_ = false;
  SignalStore store_{{.max_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{store_};
  EngineUpdateReader reader_{kNode, found_};
  EngineLog::Cursor cursor_;
};

class CapacityRecordsTest : public testing::Test {
 protected:
  // Same as EngineDiscovery.
  void List() {
    log_.Subscribe(Aggregator::Interest(), clock_.Now() + absl::Hours(48));
    const std::set<EngineAddress> engines(places_.begin(), places_.end());
    NodeEngines found{.namespaces = {{"team-a", {.engines = engines}}}};
    capacity_records_.SetEngines({"team-a"}, engines);
    for (const auto& record : capacity_records_.DepartedRecords(clock_.Now())) found.Add(record);
    log_.List(found);
    veteran_.Read(clock_.Now());
  }
  void Serve(absl::Duration how_long, double running) {
    for (absl::Duration served; served < how_long; served += absl::Seconds(5)) {
      clock_.Advance(absl::Seconds(5));
      for (const EngineAddress& place : places_) {
        EngineUpdate update = engine_.Read(clock_.Now(), running);
        update.capacity_record = capacity_records_.AddReading(place, update, NodeSnapshotOf(place));
        log_.AddReading(place, update);
      }
      veteran_.Read(clock_.Now());
    }
  }
  void Leave() {
    places_.clear();
    List();
  }
  void Sleep(absl::Duration how_long) {
    clock_.Advance(how_long);
    List();
  }

  FakeClock clock_;
  EngineLog log_{clock_, nullptr};
  NodeCapacityRecords capacity_records_;
  ServedEngine engine_;
  std::vector<EngineAddress> places_ = {EngineAddressOf("llm-0")};
  Aggregator veteran_{log_, absl::ZeroDuration()};
};

TEST_F(CapacityRecordsTest, RestartWhileTheWorkloadSleepsKeepsTheCapacity) {
  List();
  Serve(absl::Minutes(10), 30);
  Leave();
  Sleep(absl::Hours(2));
  Aggregator restarted(log_, absl::Hours(3));
  restarted.Read(clock_.Now());
  const Demand known = veteran_.DemandBehindGateway({}, 20);
  EXPECT_EQ(known.unknown_because, "");
  ASSERT_THAT(known.capacities, SizeIs(1));
  EXPECT_EQ(known.capacities.front().gpu_model, "H100");
  EXPECT_EQ(known.tokens_per_answer, ServedEngine::kTokensPerAnswer);
  EXPECT_EQ(restarted.DemandBehindGateway({}, 20), known);
}

TEST_F(CapacityRecordsTest, RestartJustAfterTheEnginesLeftKeepsTheCapacity) {
  List();
  Serve(absl::Minutes(10), 30);
  Leave();
  Aggregator restarted(log_, absl::ZeroDuration());
  restarted.Read(clock_.Now());
  const Demand known = veteran_.DemandBehindGateway({}, 20);
  ASSERT_THAT(known.capacities, SizeIs(1));
  EXPECT_EQ(restarted.DemandBehindGateway({}, 20).capacities, known.capacities);
}

TEST_F(CapacityRecordsTest, RestartWhileAnEngineIdlesKeepsTheCapacity) {
  List();
  Serve(absl::Minutes(10), 30);
  Serve(absl::Hours(1), 0);
  Serve(absl::Minutes(1), 1);
  Aggregator restarted(log_, absl::Seconds(-20));
  restarted.Read(clock_.Now());
  const Demand known = veteran_.DemandBehindGateway(NodeSnapshotOf(places_.front()), 20);
  ASSERT_THAT(known.capacities, SizeIs(1));
  EXPECT_EQ(restarted.DemandBehindGateway(NodeSnapshotOf(places_.front()), 20), known);
}

TEST_F(CapacityRecordsTest, RecordsExpireAfterADayInBoth) {
  List();
  Serve(absl::Minutes(10), 30);
  Leave();
  Sleep(absl::Hours(24));
  EXPECT_THAT(veteran_.DemandBehindGateway({}, 20).capacities, SizeIs(1));
  Sleep(absl::Minutes(1));
  Aggregator restarted(log_, absl::ZeroDuration());
  restarted.Read(clock_.Now());
  for (Aggregator* each : {&veteran_, &restarted}) {
    const Demand demand = each->DemandBehindGateway({}, 20);
    EXPECT_THAT(demand.capacities, IsEmpty());
    EXPECT_EQ(demand.replicas, 1) << "for the requests that the gateway holds";
  }
}

TEST_F(CapacityRecordsTest, AgentOfAnEarlierVersionSendsOnlyReadings) {
  List();
  Serve(absl::Minutes(10), 30);
  Aggregator restarted(log_, absl::ZeroDuration(), /*of_old_agent=*/true);
  restarted.Read(clock_.Now());
  const Demand known = veteran_.DemandBehindGateway(NodeSnapshotOf(places_.front()), 20);
  EXPECT_EQ(restarted.DemandBehindGateway(NodeSnapshotOf(places_.front()), 20), known)
      << "of the 15 minutes that agents keep";
  Leave();
  Sleep(absl::Hours(1));
  restarted.Read(clock_.Now());
  EXPECT_THAT(restarted.Signals().capacity_records, IsEmpty());
  EXPECT_EQ(restarted.DemandBehindGateway({}, 20).replicas, 1);
}

}  // namespace
}  // namespace gpuscaler

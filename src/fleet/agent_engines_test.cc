#include "fleet/agent_engines.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/engine_wire.h"
#include "fleet/telemetry_service.h"
#include "fleet/test_engines.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "telemetry.pb.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const SignalSource kFound{.namespace_name = "team-a", .target = DiscoveredEngines()};
const EngineQuery kRunning{.metric = EngineMetric::kRequestsRunning, .look_back = absl::Minutes(1)};

// An agent with engines that the test finds and reads.
class EngineAgent {
 public:
  explicit EngineAgent(bool finds_engines = true, int port = 0)
      : service_({.horizon = absl::Minutes(2), .engines = finds_engines ? &log_ : nullptr}, clock_,
                 store_, leases_, nullptr),
        server_(
            *WireServer::Start({.bind_address = "127.0.0.1", .port = port}, service_.methods())) {
    store_.Put(SnapshotOf(1, clock_.Now(), "gpu-7"));
  }
  ~EngineAgent() {
    service_.StopStreams();
    server_ = nullptr;
  }

  void Read(double running) {
    clock_.Advance(absl::Seconds(1));
    log_.AddReading(TestPlace("llm-0"), TestUpdates(clock_.Now(), running));
  }
  EngineLog& log() { return log_; }
  FakeClock& clock() { return clock_; }
  int port() const { return server_->port(); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port()); }
  ReaderCounts counts() const { return service_.engine_counts(); }

 private:
  FakeClock clock_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(2)};
  Leases leases_;
  EngineLog log_{clock_, nullptr};
  TelemetryService service_;
  std::unique_ptr<WireServer> server_;
};

// A server that answers the first subscription with one message, and then keeps the call.
class ScriptedAgent {
 public:
  explicit ScriptedAgent(const wire::EngineTelemetry& message)
      : message_(message.SerializeAsString()),
        server_(*WireServer::Start({.bind_address = "127.0.0.1"},
                                   {{"/gpuscaler.telemetry.v1.NodeTelemetry/WatchEngines",
                                     [this](const std::shared_ptr<ServerCall>& call) {
                                       return std::make_unique<Answer>(*this, call);
                                     }}})) {}
  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }
  bool has_ended() const { return has_ended_; }

 private:
  class Answer : public ServerCall::Handler {
   public:
    Answer(ScriptedAgent& agent, std::shared_ptr<ServerCall> call)
        : agent_(agent), call_(std::move(call)) {}
    void OnMessage(std::string) override {
      if (!std::exchange(has_answered_, true)) call_->Write(agent_.message_);
    }
    void OnEnd() override { agent_.has_ended_ = true; }

   private:
    ScriptedAgent& agent_;
    const std::shared_ptr<ServerCall> call_;
    bool has_answered_ = false;
  };

  const std::string message_;
  std::atomic<bool> has_ended_ = false;
  const std::unique_ptr<WireServer> server_;
};

class AgentEnginesTest : public testing::Test {
 protected:
  AgentEnginesTest() {
    EXPECT_TRUE(store_.Lease(kFound, kRunning, clock_.Now(), clock_.Now() + absl::Hours(1)).ok());
    found_.SetNodes(found_.Subscription(clock_.Now()), {"gpu-7"}, clock_.Now());
  }

  std::unique_ptr<AgentEngines> Watch(const std::string& address) {
    auto agent = std::make_unique<AgentEngines>(AgentStreamOptions{.reader = "aggregator-0"},
                                                address, "gpu-7", clock_, loop_, found_);
    agent->Subscribe(std::make_shared<EngineSubscription>(SubscribedIn("team-a")));
    agent->Tick();
    return agent;
  }
  SignalHistory History() {
    SignalHistory history = store_.HistoryOf(kFound, kRunning, clock_.Now());
    MarkAwaited([](const std::string& node) { return node == "gpu-7"; }, history);
    return history;
  }
  std::vector<double> Running() {
    std::vector<double> running;
    for (const SignalSeries& series : History().series) {
      for (const SignalPoint& point : series.points) running.push_back(point.value.value_or(-1));
    }
    return running;
  }
  static bool Becomes(const std::function<bool()>& condition) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    while (!condition() && real.Now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return condition();
  }
  std::vector<double> RunningOnce(double newest) {
    Becomes([&] { return !Running().empty() && Running().back() == newest; });
    return Running();
  }
  std::string OutcomeOf(const wire::EngineTelemetry& message) {
    ScriptedAgent server(message);
    const auto agent = Watch(server.address());
    Becomes([&] { return agent->is_open() || server.has_ended(); });
    if (agent->is_open()) return "accepted";
    return server.has_ended() ? "refused" : "no answer";
  }

  FakeClock clock_;
  SignalStore store_{{.max_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{store_};
  EventLoop loop_;
};

TEST_F(AgentEnginesTest, ReceivesFoundEnginesTheirPastAndNewReadings) {
  EngineAgent agent;
  agent.log().Subscribe(SubscribedIn("team-a"), agent.clock().Now() + absl::Minutes(1));
  agent.log().List(TestEngines({TestPlace("llm-0")}));
  agent.Read(1);
  agent.Read(2);
  clock_.Advance(absl::Seconds(10));
  const auto watch = Watch(agent.address());
  EXPECT_THAT(RunningOnce(2), ElementsAre(1, 2));
  EXPECT_TRUE(History().status.ok()) << History().status;
  clock_.Advance(absl::Seconds(1));
  agent.Read(3);
  EXPECT_THAT(RunningOnce(3), ElementsAre(1, 2, 3));
  EXPECT_EQ(History().series.front().pod, "llm-0");
  EXPECT_EQ(watch->counts().readings, 3);
  EXPECT_GT(watch->counts().bytes, 100);
  EXPECT_EQ(agent.counts().readers, 1);
  EXPECT_EQ(agent.counts().readings, 3);
}

TEST_F(AgentEnginesTest, TheAgentsClockMayBeWrongByHours) {
  EngineAgent agent;
  agent.clock().Advance(absl::Hours(5));
  agent.log().Subscribe(SubscribedIn("team-a"), agent.clock().Now() + absl::Minutes(1));
  agent.log().List(TestEngines({TestPlace("llm-0")}));
  agent.Read(1);
  agent.Read(2);
  const auto watch = Watch(agent.address());
  RunningOnce(2);
  const std::vector<SignalPoint> points = History().series.at(0).points;
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].at, clock_.Now());
  EXPECT_EQ(points[0].at, clock_.Now() - absl::Seconds(1));
}

TEST_F(AgentEnginesTest, SubscriptionReachesTheAgent) {
  EngineAgent agent;
  const auto watch = Watch(agent.address());
  EXPECT_TRUE(Becomes([&] { return agent.log().Subscription() == SubscribedIn("team-a"); }));
  EngineSubscription both = SubscribedIn("team-a", absl::Minutes(5), true);
  both.namespaces["team-b"] = {};
  watch->Subscribe(std::make_shared<EngineSubscription>(both));
  EXPECT_TRUE(Becomes([&] { return agent.log().Subscription() == both; }));
  agent.clock().Advance(absl::Seconds(90));
  EXPECT_THAT(agent.log().Subscription().namespaces, IsEmpty()) << "the lease has ended";
}

// A restarted aggregator gets its triggers one after another, and each adds a namespace.
TEST_F(AgentEnginesTest, ManyChangesAtOnceStayBelowTheLimitOfTheAgent) {
  EngineAgent agent;
  const auto watch = Watch(agent.address());
  const auto subscribe = [&](int i) {
    watch->Subscribe(std::make_shared<EngineSubscription>(SubscribedIn(absl::StrCat("team-", i))));
  };
  const auto has = [&](int i) {
    return agent.log().Subscription().namespaces.contains(absl::StrCat("team-", i));
  };
  for (int i = 2; i <= 200; ++i) subscribe(i);
  EXPECT_TRUE(Becomes([&] { return has(20); }));
  clock_.Advance(absl::Seconds(1));
  subscribe(200);
  EXPECT_TRUE(Becomes([&] { return has(200); }));
  EXPECT_FALSE(has(21));
  EXPECT_TRUE(Becomes([&] { return watch->is_open(); }));
  EXPECT_EQ(watch->counts().attempts, 1);
}

TEST_F(AgentEnginesTest, DisabledDiscoveryIsReported) {
  EngineAgent agent(false);
  const auto watch = Watch(agent.address());
  ASSERT_TRUE(Becomes([&] { return History().status.ok(); }));
  EXPECT_THAT(History().series, IsEmpty());
  ASSERT_EQ(History().missing_engines->size(), 1u);
  EXPECT_EQ(History().missing_engines->front().node, "gpu-7");
  EXPECT_THAT(History().missing_engines->front().why, HasSubstr("--discover-engines"));
  clock_.Advance(absl::Seconds(59));
  watch->Tick();
  EXPECT_EQ(watch->counts().attempts, 1) << "no retry before a minute";
}

TEST_F(AgentEnginesTest, AgentWithoutTheMethodFindsNoEngines) {
  const auto server = *WireServer::Start({.bind_address = "127.0.0.1"}, {});
  const auto watch = Watch(absl::StrCat("127.0.0.1:", server->port()));
  ASSERT_TRUE(Becomes([&] { return History().status.ok(); }));
  EXPECT_THAT(History().missing_engines->at(0).why,
              HasSubstr("of a version that finds no engines"));
}

TEST_F(AgentEnginesTest, ReadingsStayWhileTheAgentIsAwayAndContinueAfterwards) {
  auto agent = std::make_unique<EngineAgent>();
  agent->log().Subscribe(SubscribedIn("team-a"), agent->clock().Now() + absl::Minutes(1));
  agent->log().List(TestEngines({TestPlace("llm-0")}));
  agent->Read(1);
  const int port = agent->port();
  const auto watch = Watch(agent->address());
  RunningOnce(1);
  agent = nullptr;
  EXPECT_TRUE(Becomes([&] { return !watch->is_open(); }));
  EXPECT_THAT(Running(), ElementsAre(1));
  EngineAgent next(true, port);  // another process with a new clock and new ids
  clock_.Advance(absl::Seconds(20));
  EXPECT_TRUE(Becomes([&] {
    watch->Tick();
    return !next.log().Subscription().namespaces.empty();
  }));
  next.log().List(TestEngines({TestPlace("other"), TestPlace("llm-0")}));
  next.Read(2);
  EXPECT_THAT(RunningOnce(2), ElementsAre(1, 2));
}

TEST_F(AgentEnginesTest, IdleStreamIsRestarted) {
  wire::EngineTelemetry hello;
  hello.mutable_node()->set_name("gpu-7");
  ScriptedAgent silent(hello);
  const auto watch = Watch(silent.address());
  ASSERT_TRUE(Becomes([&] { return watch->is_open(); }));
  clock_.Advance(absl::Seconds(16));
  watch->Tick();
  EXPECT_TRUE(Becomes([&] { return !watch->is_open(); }));
  clock_.Advance(absl::Seconds(10));
  EXPECT_TRUE(Becomes([&] {
    watch->Tick();
    return watch->counts().attempts == 2;
  }));
}

TEST_F(AgentEnginesTest, NoStreamAfterTheLeaseHasEnded) {
  AgentEngines watch({}, "127.0.0.1:1", "gpu-7", clock_, loop_, found_);
  watch.Tick();
  EXPECT_EQ(watch.counts().attempts, 0);
  watch.Subscribe(std::make_shared<EngineSubscription>(SubscribedIn("team-a")));
  clock_.Advance(absl::Seconds(90));
  watch.Tick();
  EXPECT_EQ(watch.counts().attempts, 0);
}

wire::EngineTelemetry Hello() {
  wire::EngineTelemetry message;
  message.mutable_node()->set_name("gpu-7");
  message.mutable_list()->add_namespaces("team-a");
  wire::FoundEngine& engine = *message.mutable_list()->add_engines();
  engine.set_id(1);
  engine.set_namespace_name("team-a");
  engine.set_pod("llm-0");
  engine.set_address("10.0.0.1");
  engine.set_port(8000);
  return message;
}

TEST_F(AgentEnginesTest, NoDecisionBeforeTheWholePastHasArrived) {
  EngineUpdateReader reader("gpu-7", found_);
  const auto read = [&](wire::EngineTelemetry message, double running, bool more) {
    message.set_more(more);
    wire::EngineReading& reading = *message.add_readings();
    reading.set_id(1);
    reading.set_engine("vllm");
    reading.add_models()->set_running(running);
    return reader.Read(message, clock_.Now());
  };
  ASSERT_TRUE(read(Hello(), 1, true).ok());
  EXPECT_TRUE(History().is_awaited);
  ASSERT_TRUE(read({}, 2, true).ok());
  EXPECT_TRUE(History().is_awaited);
  ASSERT_TRUE(read({}, 3, false).ok());
  EXPECT_TRUE(History().status.ok()) << History().status;
  EXPECT_THAT(Running(), testing::Not(IsEmpty()));
}

// An aggregator that restarts receives the past at once in a late message. Its arrivals must be
// those of one that received each reading as it was taken.
TEST_F(AgentEnginesTest, PastOfALateMessageGivesTheSameArrivals) {
  const auto demand_of = [](absl::Duration delay_of_past) {
    constexpr int kSeconds = 120;
    FakeClock clock;
    SignalStore store({.max_gap = absl::Seconds(10)}, [] {});
    EngineQuery query = kRunning;
    query.demand_window = absl::Minutes(15);
    EXPECT_TRUE(store.Lease(kFound, query, clock.Now(), clock.Now() + absl::Hours(1)).ok());
    FoundEngines found(store);
    found.SetNodes(found.Subscription(clock.Now()), {"gpu-7"}, clock.Now());
    EngineUpdateReader reader("gpu-7", found);
    wire::EngineTelemetry message = Hello();
    double done = 0;
    for (int second = 0; second < kSeconds; ++second) {
      clock.Advance(absl::Seconds(1));
      wire::EngineReading& reading = *message.add_readings();
      reading.set_id(1);
      reading.set_engine("vllm");
      reading.set_taken_us(ToWire(clock.Now()));
      wire::EngineModel& model = *reading.add_models();
      model.set_waiting(0);
      model.set_running(4);
      model.set_requests_done(done += second % 7);
      if (delay_of_past > absl::ZeroDuration() && second < kSeconds / 2) continue;
      message.set_sent_us(ToWire(clock.Now()));
      const bool is_past = second == kSeconds / 2;
      EXPECT_TRUE(
          reader.Read(message, clock.Now() + (is_past ? delay_of_past : absl::Milliseconds(2)))
              .ok());
      message.Clear();
    }
    const SignalHistory history = store.HistoryOf(kFound, query, clock.Now());
    EXPECT_EQ(history.series.size(), 1u);
    return *history.series.at(0).demand;
  };
  EXPECT_EQ(demand_of(absl::Milliseconds(400)), demand_of(absl::ZeroDuration()));
}

TEST_F(AgentEnginesTest, UnknownFieldsOfANewerAgentAreIgnored) {
  wire::EngineTelemetry message = Hello();
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(99, 7);
  wire::EngineReading& reading = *message.add_readings();
  reading.set_id(1);
  reading.add_models()->set_running(4);
  reading.GetReflection()->MutableUnknownFields(&reading)->AddLengthDelimited(98, "new");
  message.add_readings()->set_id(2);  // no engine in the list
  EXPECT_EQ(OutcomeOf(message), "accepted");
  EXPECT_THAT(Running(), ElementsAre(4));
}

TEST_F(AgentEnginesTest, InvalidRecordIsDroppedAlone) {
  wire::EngineTelemetry message = Hello();
  for (const double seconds : {-1.0, 60.0}) {
    wire::LeftEngine& left = *message.mutable_list()->add_left();
    left.mutable_pod()->set_namespace_name("team-a");
    left.mutable_pod()->set_name("llm-9");
    for (int i = 0; i < 9; ++i) left.mutable_learnt()->add_service(seconds);
  }
  wire::EngineReading& reading = *message.add_readings();
  reading.set_id(1);
  reading.add_models()->set_running(4);
  reading.mutable_learnt()->add_service(-1);
  message.set_sent_us(ToWire(clock_.Now()));
  for (wire::LeftEngine& left : *message.mutable_list()->mutable_left()) {
    left.mutable_learnt()->set_read_us(message.sent_us());
  }
  EXPECT_EQ(OutcomeOf(message), "accepted");
  EXPECT_THAT(Running(), ElementsAre(4));
  EngineQuery of_demand = kRunning;
  of_demand.demand_window = absl::Minutes(15);
  const SignalHistory history = store_.HistoryOf(kFound, of_demand, clock_.Now());
  ASSERT_EQ(history.capacity_records.size(), 1u);
  EXPECT_EQ(history.capacity_records.front()->demand->service.seconds, 60);
  EXPECT_TRUE(History().capacity_records.empty()) << "the query is not about demand";
}

TEST_F(AgentEnginesTest, InvalidMessageEndsTheStream) {
  struct {
    const char* what;
    std::function<void(wire::EngineTelemetry&)> corrupt;
  } const cases[] = {
      {"of another node", [](auto& message) { message.mutable_node()->set_name("gpu-8"); }},
      {"of no node", [](auto& message) { message.clear_node(); }},
      {"a pod's name that is none",
       [](auto& message) { message.mutable_list()->mutable_engines(0)->set_pod("a\nb"); }},
      {"an engine that left a pod without a name",
       [](auto& message) { message.mutable_list()->add_left()->set_address("10.0.0.9"); }},
      {"an engine that left with sums without end",
       [](auto& message) {
         wire::LeftEngine& left = *message.mutable_list()->add_left();
         left.mutable_pod()->set_namespace_name("team-a");
         left.mutable_pod()->set_name("llm-9");
         for (int i = 0; i < 100; ++i) left.mutable_learnt()->add_service(1);
       }},
      {"more engines that left than a node has",
       [](auto& message) {
         for (int i = 0; i <= 1024; ++i) {
           wire::LeftEngine& left = *message.mutable_list()->add_left();
           left.mutable_pod()->set_namespace_name("team-a");
           left.mutable_pod()->set_name("llm-9");
         }
       }},
      {"a pod's name that is too long",
       [](auto& message) {
         message.mutable_list()->mutable_engines(0)->set_pod(std::string(254, 'a'));
       }},
      {"a pod without a namespace",
       [](auto& message) { message.mutable_list()->mutable_engines(0)->clear_namespace_name(); }},
      {"a port that is none",
       [](auto& message) { message.mutable_list()->mutable_engines(0)->set_port(65536); }},
      {"too many engines",
       [](auto& message) {
         for (int i = 0; i < 4096; ++i) {
           *message.mutable_list()->add_engines() = message.list().engines(0);
         }
       }},
      {"too many models",
       [](auto& message) {
         message.add_readings();
         for (int i = 0; i <= 1000; ++i) message.mutable_readings(0)->add_models();
       }},
      {"too many buckets",
       [](auto& message) {
         auto& counts = *message.add_readings()->add_models()->mutable_first_token_seconds();
         for (int i = 0; i <= 500; ++i) counts.add_not_above(i);
       }},
      {"an engine's name that is too long",
       [](auto& message) { message.add_readings()->set_engine(std::string(64, 'a')); }},
  };
  EXPECT_EQ(OutcomeOf(Hello()), "accepted");
  for (const auto& each : cases) {
    wire::EngineTelemetry message = Hello();
    each.corrupt(message);
    EXPECT_EQ(OutcomeOf(message), "refused") << each.what;
  }
}

TEST_F(AgentEnginesTest, TextsForPeopleAreCleaned) {
  wire::EngineTelemetry message = Hello();
  message.mutable_list()->clear_engines();
  wire::PodWithoutEngine& pod = *message.mutable_list()->add_without();
  pod.set_namespace_name("team-a");
  pod.set_pod("llm-0");
  pod.set_why(absl::StrCat("\x1b[31m", std::string(5000, 'x')));
  EXPECT_EQ(OutcomeOf(message), "accepted");
  ASSERT_EQ(History().missing_engines->size(), 1u);
  EXPECT_EQ(History().missing_engines->front().why.size(), 1024u);
  EXPECT_EQ(History().missing_engines->front().why[0], ' ');
}

TEST(EngineCosts, AllowsABurstForThePastAndThenARate) {
  TokenBucket quota(kEngineCostBurst, kEngineCostPerSecond);
  const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  EXPECT_TRUE(quota.Take(now, 50 << 20));
  EXPECT_FALSE(quota.Take(now, 20 << 20));
  EXPECT_TRUE(quota.Take(now + absl::Minutes(1), 200 << 10));
}

// 4 bytes each, but as much work as any other.
TEST(EngineCosts, EmptyMessagesCostToo) {
  wire::EngineTelemetry list, readings;
  list.mutable_list();
  for (int i = 0; i < 1000; ++i) readings.add_readings();
  for (const wire::EngineTelemetry& message : {list, readings}) {
    TokenBucket quota(kEngineCostBurst, kEngineCostPerSecond);
    const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
    int taken = 0;
    while (taken < 10'000 && quota.Take(now, static_cast<double>(CostOf(message)))) ++taken;
    EXPECT_LT(taken, 2000);
    EXPECT_GT(taken, 100) << "an agent with changing engines";
  }
}

TEST(EngineCosts, AllowsTheWholePastOfAnAgent) {
  wire::EngineTelemetry past;
  wire::EngineReading reading =
      EncodeEngine(1, TestUpdates(absl::FromUnixSeconds(1'767'225'600), 100));
  while (past.ByteSizeLong() < 256 << 10) *past.add_readings() = reading;
  TokenBucket quota(kEngineCostBurst, kEngineCostPerSecond);
  for (size_t bytes = 0; bytes < 16 << 20; bytes += past.ByteSizeLong()) {
    ASSERT_TRUE(quota.Take(absl::FromUnixSeconds(1'767'225'600), static_cast<double>(CostOf(past))))
        << bytes;
  }
}

// The readings of a known engine in a subscribed namespace exceed the limit.
TEST_F(AgentEnginesTest, EndlessReadingsTakeTheQuotaOfTheirNamespaceAlone) {
  constexpr size_t kShare = size_t{256} << 10;
  SignalStore store({.max_gap = absl::Seconds(10), .max_bytes_per_namespace = kShare}, [] {});
  ASSERT_TRUE(store.Lease(kFound, kRunning, clock_.Now(), clock_.Now() + absl::Hours(1)).ok());
  FoundEngines found(store);
  found.SetNodes(found.Subscription(clock_.Now()), {"gpu-7"}, clock_.Now());
  EngineUpdateReader reader("gpu-7", found);
  constexpr int64_t kSentUs = 60'000'000;
  wire::EngineTelemetry message = Hello();
  message.set_sent_us(kSentUs);
  ASSERT_TRUE(reader.Read(message, clock_.Now()).ok());
  const auto send = [&](int64_t at_us) {
    wire::EngineTelemetry next;
    next.set_sent_us(kSentUs);
    for (int64_t i = 0; i < 1000; ++i) {
      wire::EngineReading& reading = *next.add_readings();
      reading.set_id(1);
      reading.set_taken_us(at_us + i);
      reading.set_engine("vllm");
      reading.add_models()->set_running(static_cast<double>(i));
    }
    return reader.Read(next, clock_.Now());
  };
  absl::Status refused;
  for (int i = 0; i < 1000 && refused.ok(); ++i) refused = send(int64_t{1000} * i);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("more engines than any agent"));
  EXPECT_EQ(store.HistoryOf(kFound, kRunning, clock_.Now()).status.code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace gpuscaler

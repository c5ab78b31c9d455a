// Answers on a fleet: what one namespace costs another, and what time alone changes.
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "fleet/test_readings.h"
#include "gtest/gtest.h"
#include "serve/judge.h"
#include "serve/served_scaler.h"
#include "serve/watched_stream.h"
#include "signal/found_engines.h"

namespace gpuscaler {
namespace {

using externalscaler::IsActiveResponse;
using externalscaler::ScaledObjectRef;

constexpr absl::Duration kSixSeconds = absl::Seconds(6);

ScaledObjectRef RefIn(const std::string& namespace_name,
                      const std::map<std::string, std::string>& metadata = {}) {
  ScaledObjectRef ref = RefOf(metadata);
  ref.set_namespace_(namespace_name);
  return ref;
}

// Counts the questions to a store, and may keep who waits for changes from seeing any.
class CountedQuestions : public FleetReader {
 public:
  explicit CountedQuestions(const FleetStore& store) : store_(store) {}

  // True once somebody is kept; false when nobody is within 10 s.
  bool KeepWaiting() {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    keep_ = true;
    while (!kept_ && real.Now() < deadline) changed_.WaitFor(mutex_, deadline - real.Now());
    keep_ = kept_;
    return kept_;
  }
  void LetGo() {
    MutexLock lock(mutex_);
    keep_ = false;
    changed_.NotifyAll();
  }

  int asked(const std::string& namespace_name) const {
    MutexLock lock(mutex_);
    const auto found = asked_.find(namespace_name);
    return found == asked_.end() ? 0 : found->second;
  }

  absl::StatusOr<Fleet> Of(const PodsWanted& wanted) const override {
    {
      MutexLock lock(mutex_);
      for (const std::string& name : wanted.namespaces) ++asked_[name];
      ++asked_[absl::StrCat("owner ", wanted.owner)];
    }
    return store_.Of(wanted);
  }
  absl::StatusOr<Fleet> All() const override { return store_.All(); }
  absl::Status Check() const override { return store_.Check(); }
  absl::Time NewestAt() const override { return store_.NewestAt(); }
  Changes ChangedSince(int64_t generation) const override {
    return store_.ChangedSince(generation);
  }
  bool Knows(const PodsWanted& wanted) const override { return store_.Knows(wanted); }
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override {
    const int64_t newest = store_.WaitForGeneration(generation, timeout);
    MutexLock lock(mutex_);
    while (keep_) {
      kept_ = true;
      changed_.NotifyAll();
      changed_.Wait(mutex_);
    }
    kept_ = false;
    return newest;
  }

 private:
  const FleetStore& store_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool keep_ ABSL_GUARDED_BY(mutex_) = false;
  mutable bool kept_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::map<std::string, int> asked_ ABSL_GUARDED_BY(mutex_);
};

class FleetAnswersTest : public testing::Test {
 protected:
  FleetAnswersTest() {
    store_.Listed(std::vector<std::string>{"a:1", "b:1"});
    Says("a", 0);
    Says("b", 0);
  }

  // Each team has the only GPU of the node named after it.
  void Says(const std::string& team, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", team));
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = absl::StrCat("team-", team);
    AgentNews news{.node = snapshot.node,
                   .instance = std::hash<std::string>()(team),
                   .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Heard(absl::StrCat(team, ":1"), std::move(news));
  }

  // That workload of the namespace "crowd" has the only GPU of a node of its own.
  void SaysOfWorkload(int workload, double utilization_percent) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-n", workload));
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = "crowd";
    snapshot.pods[0].owners[0].name = absl::StrCat("workload-", workload);
    AgentNews news{.node = snapshot.node,
                   .instance = static_cast<uint64_t>(1000 + workload),
                   .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Heard(absl::StrCat("n", workload, ":1"), std::move(news));
  }

  // The node's only GPU is held by that pod, which works.
  void SaysOfPod(const std::string& address, const Pod& pod) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", address));
    AddPods(snapshot);
    snapshot.pods[0].owners = pod.owners;
    snapshot.pods[0].owners_from = pod.owners_from;
    AgentNews news{.node = snapshot.node,
                   .instance = std::hash<std::string>()(address),
                   .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Heard(absl::StrCat(address, ":1"), std::move(news));
  }

  // Both, every second.
  void Hold(absl::Duration duration, double of_a, double of_b) {
    for (absl::Duration held; held < duration; held += absl::Seconds(1)) {
      clock_.Advance(absl::Seconds(1));
      Says("a", of_a);
      Says("b", of_b);
    }
  }

  FakeClock clock_;
  FleetStore store_{clock_,
                    {.patience = {.grace = absl::Seconds(15)},
                     .limits = {.horizon = absl::Minutes(15), .join_within = kSixSeconds}}};
  CountedQuestions questions_{store_};
  CountedRequests counted_;
  Leases leases_;
  const std::string profiles_path_ = testing::TempDir() + "fleet_answers_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name() +
                                     ".yaml";
  ProfileStore profiles_{profiles_path_};
};

class JudgeOnFleetTest : public FleetAnswersTest {
 protected:
  Judge::Judged Judged(CachedTrigger& trigger) {
    return judge_.Try(Question::kAll, trigger, judge_.Parse(trigger));
  }

  Judge judge_{{.stale_after = kSixSeconds, .grace = absl::Seconds(15)},
               clock_,
               questions_,
               leases_,
               profiles_,
               counted_,
               [] {}};
};

TEST_F(JudgeOnFleetTest, ChangesOfOtherNamespacesCostNoDecision) {
  TriggerCache cache({});
  constexpr int kObjects = 500;
  const auto ask_all = [&] {
    for (int i = 0; i < kObjects; ++i) {
      const std::string name = i == 0 ? "team-a" : absl::StrCat("sleeper-", i);
      ASSERT_TRUE(Judged(*cache.Get(RefIn(name))).ok());
    }
  };
  ask_all();
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects);
  for (int second = 0; second < 60; ++second) {
    clock_.Advance(absl::Seconds(1));
    Says("b", second);
    Says("a", second);
    store_.Tick();
    ask_all();
  }
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects + 60) << "team-a's alone";
}

// With 500 ScaledObjects in one namespace, each named like its workload or naming it.
TEST_F(JudgeOnFleetTest, ChangesOfOtherWorkloadsOfTheNamespaceCostNoDecision) {
  constexpr int kObjects = 500;
  std::vector<std::string> nodes;
  for (int i = 0; i < kObjects; ++i) nodes.push_back(absl::StrCat("n", i, ":1"));
  store_.Listed(nodes);
  for (int i = 0; i < kObjects; ++i) SaysOfWorkload(i, 0);
  TriggerCache cache({});
  const auto ask_all = [&] {
    for (int i = 0; i < kObjects; ++i) {
      ScaledObjectRef ref = RefIn("crowd");
      if (i % 2 == 0) {
        ref.set_name(absl::StrCat("workload-", i));
      } else {
        (*ref.mutable_scalermetadata())["workload"] = absl::StrCat("workload-", i);
      }
      ASSERT_TRUE(Judged(*cache.Get(ref)).ok());
    }
  };
  ask_all();
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects);
  for (int millisecond = 1; millisecond <= 100; ++millisecond) {
    clock_.Advance(absl::Milliseconds(1));
    SaysOfWorkload(7, millisecond);
    ask_all();
  }
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects + 100) << "workload-7's alone";
}

// A node that fell silent before anybody asked for it never will read it.
TEST_F(JudgeOnFleetTest, CostlyReadingIsNotWaitedForOfANodeThatIsSilent) {
  const auto says_pcie = [this](const std::string& team, std::optional<double> tx_kbps) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", team));
    GpuSample& gpu = snapshot.gpus[0];
    gpu.utilization_percent = 50;
    gpu.pcie_tx_kbps = tx_kbps;
    gpu.gaps.clear();
    if (!tx_kbps) gpu.gaps = {{GpuField::kPcie, GpuGap::Reason::kNotWanted, ""}};
    AddPods(snapshot);
    AgentNews news{.node = snapshot.node,
                   .instance = std::hash<std::string>()(team),
                   .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Heard(absl::StrCat(team, ":1"), std::move(news));
  };
  CachedTrigger trigger(RefIn("team-a", {{"metricType", "pcie_tx_kbps"},
                                         {"targetValue", "1000"},
                                         {"scope", "fleet"},
                                         {"window", "0s"}}));
  clock_.Advance(absl::Seconds(1));
  says_pcie("a", 700);
  says_pcie("b", std::nullopt);
  EXPECT_EQ(Judged(trigger).status().code(), absl::StatusCode::kUnavailable);
  store_.Lost("b:1", absl::UnavailableError("connection refused"));
  const auto judged = Judged(trigger);
  ASSERT_TRUE(judged.ok()) << judged.status();
  EXPECT_EQ(judged->verdict->decision.value, 700 + 1000) << "it stands for the target";
}

TEST_F(JudgeOnFleetTest, AgentThatIsCutOffCostsOthersNothing) {
  CachedTrigger sleeper(RefIn("sleeper"));
  ASSERT_TRUE(Judged(sleeper).ok());
  clock_.Advance(absl::Minutes(1));
  store_.Tick();
  ASSERT_TRUE(Judged(sleeper).ok());
  EXPECT_EQ(counted_.decided(Outcome::kValue), 1);
}

TEST_F(JudgeOnFleetTest, VerdictEndsWithTimeAloneThoughNothingIsHeard) {
  Hold(absl::Minutes(3), 50, 50);
  CachedTrigger trigger(RefIn("team-a"));
  const auto fresh = Judged(trigger);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ(fresh->verdict->decision.value, 50);
  clock_.Advance(absl::Seconds(14));
  const auto in_grace = Judged(trigger);
  ASSERT_TRUE(in_grace.ok());
  EXPECT_EQ(in_grace->verdict->decision.value, 50) << in_grace->verdict->decision.status;
  clock_.Advance(absl::Seconds(2));
  const auto silent = Judged(trigger);
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->verdict->decision.status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(JudgeOnFleetTest, WhoLooksBackFarHasThePastKept) {
  const auto ask = [&](const std::string& namespace_name,
                       const std::map<std::string, std::string>& metadata) {
    CachedTrigger trigger(RefIn(namespace_name, metadata));
    judge_.Want(trigger, *judge_.Parse(trigger));
  };
  ask("team-a", {{"profile", "vllm-inference"}});
  EXPECT_EQ(leases_.LongestLookBack(clock_.Now()), kShortestLookBack);
  ask("team-a", {{"profile", "batch"}});
  EXPECT_EQ(leases_.LookBack({"team-a"}, clock_.Now()), absl::Minutes(5));
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now()), kShortestLookBack);
  ask("team-a", {{"profile", "training"}, {"scope", "fleet"}});
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now()), absl::Minutes(10));
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now() + kShortestLease), kShortestLookBack);
}

class StreamsOnFleetTest : public FleetAnswersTest {
 protected:
  using Stream = WatchedStream<IsActiveResponse>;

  StreamsOnFleetTest() {
    auto started = GrpcServer::Start({.bind_address = "127.0.0.1", .port = 0}, service_.Services());
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    stub_ = externalscaler::ExternalScaler::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
  }
  ~StreamsOnFleetTest() override {
    service_.StopStreams();
    server_->Drain(absl::Seconds(5));
  }

  std::unique_ptr<Stream> Open(const ScaledObjectRef& ref) {
    return std::make_unique<Stream>(
        [&](grpc::ClientContext* context, grpc::ClientReadReactor<IsActiveResponse>* reactor) {
          stub_->async()->StreamIsActive(context, &ref, reactor);
        });
  }

  ScalerService service_{{.stale_after = kSixSeconds, .stream_lifetime = absl::Hours(10)},
                         clock_,
                         questions_,
                         leases_,
                         profiles_,
                         counted_,
                         [] {}};
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<externalscaler::ExternalScaler::Stub> stub_;
};

TEST_F(StreamsOnFleetTest, ChangeOfOneNamespaceAsksNothingForStreamsOfAnother) {
  const std::map<std::string, std::string> edges = {{"activationThreshold", "50"},
                                                    {"activationWindow", "0s"}};
  const auto of_a = Open(RefIn("team-a", edges));
  const auto of_b = Open(RefIn("team-b", edges));
  ASSERT_EQ(of_a->WaitForMessages(1).size(), 1u);
  ASSERT_EQ(of_b->WaitForMessages(1).size(), 1u);
  // Each is asked for when it opens, and by the thread.
  ASSERT_TRUE(Eventually([&] { return questions_.asked("team-a") >= 2; }));
  const int asked = questions_.asked("team-a");
  for (int change = 1; change <= 20; ++change) {
    const int before = questions_.asked("team-b");
    clock_.Advance(absl::Milliseconds(10));
    Says("b", change);
    ASSERT_TRUE(Eventually([&] { return questions_.asked("team-b") > before; }));
  }
  EXPECT_LT(questions_.asked("team-a"), asked + 5) << "its own deadlines alone";
}

TEST_F(StreamsOnFleetTest, ChangeOfOneWorkloadAsksNothingForStreamsOfOthersInItsNamespace) {
  constexpr int kObjects = 500;
  std::vector<std::string> nodes;
  for (int i = 0; i < kObjects; ++i) nodes.push_back(absl::StrCat("n", i, ":1"));
  store_.Listed(nodes);
  for (int i = 0; i < kObjects; ++i) SaysOfWorkload(i, 0);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kObjects; ++i) {
    ScaledObjectRef ref =
        RefIn("crowd", {{"activationThreshold", "200"}, {"activationWindow", "0s"}});
    ref.set_name(absl::StrCat("workload-", i));
    streams.push_back(Open(ref));
  }
  const auto asked = [&](int i) { return questions_.asked(absl::StrCat("owner workload-", i)); };
  for (int i = 0; i < kObjects; ++i) {
    ASSERT_TRUE(Eventually([&] { return asked(i) >= 2; })) << "when it opens, and by the thread";
  }
  const int before = questions_.asked("crowd");
  for (int change = 1; change <= 20; ++change) {
    const int of_seven = asked(7);
    clock_.Advance(absl::Milliseconds(1));
    SaysOfWorkload(7, change);
    ASSERT_TRUE(Eventually([&] { return asked(7) > of_seven; }));
  }
  EXPECT_LT(questions_.asked("crowd"), before + kObjects) << "not for each change all";
}

TEST_F(StreamsOnFleetTest, StreamThatIsActiveLooksAtChangesOnceASecond) {
  const std::map<std::string, std::string> edges = {{"activationThreshold", "50"},
                                                    {"activationWindow", "0s"}};
  const auto of_a = Open(RefIn("team-a", edges));
  const auto of_b = Open(RefIn("team-b", edges));
  ASSERT_EQ(of_a->WaitForMessages(1).size(), 1u);
  clock_.Advance(absl::Seconds(1));
  Says("a", 90);
  ASSERT_EQ(of_a->WaitForMessages(2).size(), 2u);
  const int asked = questions_.asked("team-a");
  for (int change = 1; change <= 20; ++change) {
    const int before = questions_.asked("team-b");
    clock_.Advance(absl::Milliseconds(10));
    Says("a", 90 - change);
    Says("b", change);
    ASSERT_TRUE(Eventually([&] { return questions_.asked("team-b") > before; }));
  }
  EXPECT_LT(questions_.asked("team-a"), asked + 5);
  clock_.Advance(absl::Milliseconds(10));
  Says("a", 10);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(of_a->WaitForMessages(3).size(), 3u) << "that it is idle";
  clock_.Advance(absl::Milliseconds(10));
  Says("a", 90);
  EXPECT_EQ(of_a->WaitForMessages(4).size(), 4u) << "an edge, at once";
}

TEST_F(StreamsOnFleetTest, StreamOfAWorkloadThatStaysInactiveCostsNoDecisionForAReading) {
  Hold(absl::Minutes(3), 0, 0);
  const auto of_a = Open(RefIn("team-a", {{"activationThreshold", "50"}}));
  ASSERT_EQ(of_a->WaitForMessages(1).size(), 1u);
  ASSERT_TRUE(Eventually([&] { return questions_.asked("team-a") >= 2; }));
  const int decided = counted_.decided(Outcome::kValue);
  for (int change = 1; change <= 50; ++change) {
    const int before = questions_.asked("team-a");
    clock_.Advance(absl::Seconds(1));
    Says("a", change);
    ASSERT_TRUE(Eventually([&] { return questions_.asked("team-a") > before; }));
  }
  EXPECT_EQ(counted_.decided(Outcome::kValue), decided);
  clock_.Advance(absl::Milliseconds(1));
  Says("a", 51);
  EXPECT_EQ(of_a->WaitForMessages(2).size(), 2u);
}

// What a stream watches changes with who holds GPUs, which new profiles must not hide.
TEST_F(StreamsOnFleetTest, ChangeBesideNewProfilesIsSeen) {
  using From = Pod::OwnersFrom;
  const Pod of_llm{.owners = {{"Deployment", "llm"}}, .owners_from = From::kReferences};
  const Pod of_another{.owners = {{"Deployment", "another"}}, .owners_from = From::kReferences};
  const Pod of_llm_or_another{.owners = {{"Deployment", "llm"}, {"StatefulSet", "another"}},
                              .owners_from = From::kName};
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "c:1", "d:1"});
  SaysOfPod("c", of_llm);
  SaysOfPod("d", {.owners = {{"Deployment", "third"}}, .owners_from = From::kReferences});
  const auto stream =
      Open(RefIn("team-a", {{"activationThreshold", "200"}, {"activationWindow", "0s"}}));
  ASSERT_EQ(stream->WaitForMessages(1).size(), 1u);
  ASSERT_TRUE(Eventually([&] { return questions_.asked("team-a") >= 2; }));

  ASSERT_TRUE(questions_.KeepWaiting());
  clock_.Advance(absl::Milliseconds(1));
  SaysOfPod("c", of_llm_or_another);
  std::ofstream(profiles_path_) << "profiles: {ours: {targetValue: 70}}\n";
  ASSERT_TRUE(profiles_.Reload().ok());
  const int asked = questions_.asked("team-a");
  questions_.LetGo();
  ASSERT_TRUE(Eventually([&] { return questions_.asked("team-a") >= asked + 2; }))
      << "for the change, and for the profiles";
  // Who holds d's GPU is no concern of a stream that knows its own pods.
  const int then = questions_.asked("team-a");
  clock_.Advance(absl::Milliseconds(1));
  SaysOfPod("d", of_another);
  EXPECT_TRUE(Eventually([&] { return questions_.asked("team-a") > then; }));
}

TEST_F(StreamsOnFleetTest, StreamSaysWhatTimeAloneBrings) {
  Hold(absl::Minutes(3), 90, 0);
  // No reading after that: within its agent's grace it leaves activationWindow.
  const auto stream = Open(RefIn("team-a", {{"activationWindow", "10s"}}));
  ASSERT_EQ(stream->WaitForMessages(1).size(), 1u);
  clock_.Advance(absl::Seconds(1));
  Says("a", 0);
  clock_.Advance(absl::Seconds(12));
  const auto said = stream->WaitForMessages(2);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_FALSE(said[1].result());
}

class JudgeOfFoundEnginesTest : public FleetAnswersTest {
 protected:
  // The pod of that workload of the namespace "crowd" has the only GPU of the node.
  void SaysOfReplica(const std::string& node, const std::string& workload, const std::string& pod) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), node);
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = "crowd";
    snapshot.pods[0].name = pod;
    snapshot.pods[0].owners[0].name = workload;
    AgentNews news{
        .node = node, .instance = std::hash<std::string>()(node), .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Heard(absl::StrCat(node, ":1"), std::move(news));
  }

  absl::StatusOr<double> InFlightOf(const std::string& workload) {
    const ScaledObjectRef ref =
        RefIn("crowd", {{"metricType", "requests_in_flight"}, {"workload", workload}});
    const auto trigger = cache_.Get(ref);
    const Judge::Parsed parsed = judge_.Parse(*trigger);
    judge_.Want(*trigger, *parsed);
    const Judge::Judged judged = judge_.Try(Question::kAll, *trigger, parsed);
    if (!judged.ok()) return judged.status();
    const Decision& decision = judged->verdict->decision;
    if (!decision.status.ok()) return decision.status;
    return decision.value;
  }

  SignalStore signals_{{.longest_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{signals_};
  TriggerCache cache_{{}};
  Judge judge_{{.stale_after = kSixSeconds, .grace = absl::Seconds(15)},
               clock_,
               questions_,
               leases_,
               profiles_,
               counted_,
               [] {},
               {.store = &signals_, .finds_engines = true}};
};

TEST_F(JudgeOfFoundEnginesTest, ANodeThatDoesNotTellHoldsUpTheWorkloadsThatItHasAlone) {
  store_.Listed(std::vector<std::string>{"a:1", "b:1", "gpu-1:1", "gpu-2:1"});
  SaysOfReplica("gpu-1", "chat", "chat-0");
  SaysOfReplica("gpu-2", "llm", "llm-0");
  EXPECT_EQ(InFlightOf("chat").status().code(), absl::StatusCode::kUnavailable);
  found_.Expect(found_.Wanted(clock_.Now()), {"gpu-1", "gpu-2"}, clock_.Now());
  const EnginePlace chat{
      .address = "10.0.0.1", .port = 8000, .namespace_name = "crowd", .pod = "chat-0"};
  found_.List("gpu-1", NodeEngines{.namespaces = {"crowd"}, .places = {chat}}, clock_.Now());
  found_.Take("gpu-1", chat,
              {.at = clock_.Now(),
               .engine = "vllm",
               .reading = EngineReading{{{.model = "llama", .waiting = 1, .running = 2}}}});
  const absl::StatusOr<double> in_flight = InFlightOf("chat");
  ASSERT_TRUE(in_flight.ok()) << in_flight.status();
  EXPECT_EQ(*in_flight, 3);
  EXPECT_EQ(InFlightOf("llm").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(InFlightOf("idle").value_or(-1), 0) << "it has no pod";
}

}  // namespace
}  // namespace gpuscaler

// Engines in real networks, found through a fake /proc.
#include "signal/engine_discovery.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "signal/test_pod_network.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

constexpr char kOtherPage[] = "go_goroutines 7\n";
constexpr int kPid = 41;  // the first pod's, on its GPU

std::string VllmExposition(int running) {
  return absl::StrCat("vllm:num_requests_running ", running, "\nvllm:num_requests_waiting 0\n");
}

// The engines of all namespaces.
NamespaceEngines Merged(const NodeEngines& found) {
  NamespaceEngines all;
  for (const auto& [name, of] : found.namespaces) {
    all.engines.insert(of.engines.begin(), of.engines.end());
    for (const auto& pod : of.missing_engines) all.missing_engines.push_back(pod);
    for (const auto& record : of.capacity_records) all.capacity_records.push_back(record);
  }
  return all;
}

class TestSubscriber : public EngineSubscriber {
 public:
  void Subscribe(const std::string& namespace_name) {
    MutexLock lock(mutex_);
    subscription_ = {};
    if (!namespace_name.empty()) subscription_.namespaces[namespace_name];
  }
  EngineSubscription Subscription(absl::Time /*now*/) override {
    MutexLock lock(mutex_);
    is_hanging_ = hangs_;
    while (hangs_) changed_.Wait(mutex_);
    is_hanging_ = false;
    return subscription_;
  }
  // Makes Subscription() block.
  void Hang(bool hangs) {
    MutexLock lock(mutex_);
    hangs_ = hangs;
    changed_.NotifyAll();
  }
  bool is_hanging() const {
    MutexLock lock(mutex_);
    return is_hanging_;
  }
  void SetEngines(const absl::StatusOr<NodeEngines>& found, absl::Time /*at*/) override {
    MutexLock lock(mutex_);
    found_ = found;
    ++lists_;
  }
  void AddReading(const EngineAddress& engine_address, const EngineUpdate& update) override {
    MutexLock lock(mutex_);
    EXPECT_THAT(Merged(*found_).engines, testing::Contains(engine_address))
        << "of one that is not listed";
    running_ = update.reading.ok() ? ReadingOf(*update.reading, "")->running : std::nullopt;
    if (update.capacity_record != nullptr) capacity_record_ = update.capacity_record;
    ++takes_;
  }
  std::shared_ptr<const SignalSeries> capacity_record() const {
    MutexLock lock(mutex_);
    return capacity_record_;
  }

  absl::StatusOr<NodeEngines> found() const {
    MutexLock lock(mutex_);
    return found_;
  }
  NamespaceEngines all() const { return Merged(*found()); }
  // Returns -1 if the latest reading failed.
  double running() const {
    MutexLock lock(mutex_);
    return running_.value_or(-1);
  }
  int lists() const {
    MutexLock lock(mutex_);
    return lists_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_hanging_ ABSL_GUARDED_BY(mutex_) = false;
  EngineSubscription subscription_ ABSL_GUARDED_BY(mutex_);
  absl::StatusOr<NodeEngines> found_ ABSL_GUARDED_BY(mutex_) =
      absl::UnknownError("nothing received");
  std::optional<double> running_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const SignalSeries> capacity_record_ ABSL_GUARDED_BY(mutex_);
  int lists_ ABSL_GUARDED_BY(mutex_) = 0;
  int takes_ ABSL_GUARDED_BY(mutex_) = 0;
};

class EngineDiscoveryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(EnterOwnNetwork().ok());
    pod_ = std::make_unique<TestPodNetwork>(1);
    ASSERT_TRUE(pod_->status().ok()) << pod_->status();
    init_ = std::make_unique<TestProcess>([] {});  // in the node's network
    proc_.AddRealProcess(1, 0, init_->pid());
    proc_.AddLogs("web-0", 1);
    proc_.AddRealProcess(kPid, 1, pod_->pid());
    snapshot_.attribution.state = Attribution::State::kKnown;
    snapshot_.pods = {{.namespace_name = "shop", .name = "web-0"}};
    snapshot_.gpus = {{.uuid = "GPU-a", .processes = {{{.pid = kPid}}}, .holders = {{}}}};
    Put();
    Discover(/*needs_pods_api=*/false);
  }
  void Discover(bool needs_pods_api) {
    discovery_ = nullptr;
    discovery_ = std::make_unique<EngineDiscovery>(
        EngineDiscovery::Options{.interval = absl::Milliseconds(50),
                                 .folders = proc_.folders(),
                                 .needs_pods_api = needs_pods_api},
        clock_, store_, subscriber_);
  }
  void TearDown() override { discovery_.reset(); }

  void Put() {
    clock_.Advance(absl::Milliseconds(1));
    snapshot_.taken_at = clock_.Now();
    store_.Put(snapshot_);
  }

  std::unique_ptr<TestServer> ServeInside(int port, const std::string& page,
                                          const std::string& address = "0.0.0.0") const {
    std::unique_ptr<TestServer> server;
    pod_->RunInside([&] { server = std::make_unique<TestServer>(address, page, port); });
    EXPECT_EQ(server->port(), port);
    return server;
  }

  // Advances the fake clock 100 times as fast as real time. Returns false if `is_so` does not
  // become true within 20 s of real time.
  bool Until(const std::function<bool()>& is_so) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(20);
    while (!is_so()) {
      if (real.Now() >= deadline) return false;
      clock_.Advance(absl::Seconds(1));
      discovery_->Wake();
      absl::SleepFor(absl::Milliseconds(10));
    }
    return true;
  }
  bool UntilEngineAt(int port) {
    return Until([&] {
      if (!subscriber_.found().ok()) return false;
      const auto engines = subscriber_.all().engines;
      return engines.size() == 1 && engines.begin()->port == port;
    });
  }

  FakeClock clock_;
  TestProc proc_;
  NodeSnapshot snapshot_{.node = "gpu-a"};
  SnapshotStore store_{clock_, absl::Hours(1), absl::Hours(1)};
  TestSubscriber subscriber_;
  std::unique_ptr<TestPodNetwork> pod_;
  std::unique_ptr<TestProcess> init_;
  std::unique_ptr<EngineDiscovery> discovery_;
};

TEST_F(EngineDiscoveryTest, FindsTheEngineBesideASidecarAndReadsIt) {
  const auto sidecar = ServeInside(3000, kOtherPage);
  const auto engine = ServeInside(8000, VllmExposition(3));
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(UntilEngineAt(8000)) << subscriber_.found().status();
  EXPECT_EQ(
      *subscriber_.all().engines.begin(),
      (EngineAddress{
          .address = pod_->address(), .port = 8000, .namespace_name = "shop", .pod = "web-0"}));
  EXPECT_THAT(subscriber_.found()->namespaces, ElementsAre(Key("shop")));
  EXPECT_TRUE(Until([&] { return subscriber_.running() == 3; }));
  const auto counts = discovery_->counts();
  EXPECT_EQ(counts.answering, (std::map<std::string, int>{{"vllm", 1}}));
  EXPECT_GT(counts.read, 0);
  EXPECT_EQ(counts.failed, 0);
}

TEST_F(EngineDiscoveryTest, KeepsTheRecordOfAnEngineAfterItsPodIsGone) {
  const auto engine = ServeInside(8000,
                                  "vllm:num_requests_running 3\nvllm:num_requests_waiting 2\n"
                                  "vllm:request_success_total 5\n");
  snapshot_.gpus[0].name = "H100";
  Put();
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(Until([&] { return subscriber_.capacity_record() != nullptr; }))
      << "a batch that is full";
  EXPECT_EQ(subscriber_.capacity_record()->batch->learnt_limit, 3);
  snapshot_.pods.clear();
  snapshot_.gpus[0].holders.clear();
  Put();
  ASSERT_TRUE(Until([&] { return !subscriber_.all().capacity_records.empty(); }));
  const SignalSeries record = *subscriber_.all().capacity_records.front();
  EXPECT_EQ(record.pod, "web-0");
  EXPECT_EQ(record.gpu_model, "H100");
  EXPECT_EQ(record.batch->learnt_limit, 3);
  EXPECT_THAT(subscriber_.all().engines, IsEmpty());
}

TEST_F(EngineDiscoveryTest, SendsNoRequestsWithoutASubscription) {
  const auto engine = ServeInside(8000, VllmExposition(3));
  subscriber_.Subscribe("another");
  ASSERT_TRUE(Until([&] { return subscriber_.lists() > 0; }));
  EXPECT_THAT(subscriber_.all().engines, IsEmpty());
  EXPECT_THAT(subscriber_.found()->namespaces, ElementsAre(Key("another")));
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(UntilEngineAt(8000));
  subscriber_.Subscribe("");
  ASSERT_TRUE(Until([&] { return discovery_->counts().answering.empty(); }));
  const int64_t read = discovery_->counts().read;
  int turns = 0;
  EXPECT_TRUE(Until([&] { return ++turns > 20; }));
  EXPECT_EQ(discovery_->counts().read, read);
}

TEST_F(EngineDiscoveryTest, FollowsAnEngineThatRestartsOnAnotherPort) {
  auto engine = ServeInside(8000, VllmExposition(3));
  const auto sidecar = ServeInside(3000, kOtherPage);
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(UntilEngineAt(8000));
  engine.reset();
  EXPECT_TRUE(Until([&] { return subscriber_.running() == -1; })) << "a gap, and never 0";
  engine = ServeInside(9000, VllmExposition(5));
  EXPECT_TRUE(UntilEngineAt(9000));
  EXPECT_TRUE(Until([&] { return subscriber_.running() == 5; }));
}

TEST_F(EngineDiscoveryTest, ADeadEngineStaysListedUntilItsPodIsGone) {
  auto engine = ServeInside(8000, VllmExposition(3));
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(UntilEngineAt(8000));
  engine.reset();
  EXPECT_TRUE(Until([&] { return discovery_->counts().answering.empty(); }));
  EXPECT_THAT(subscriber_.all().engines, SizeIs(1));
  snapshot_.pods.clear();
  snapshot_.gpus[0].holders.clear();
  Put();
  EXPECT_TRUE(Until([&] { return subscriber_.all().engines.empty(); }));
}

TEST_F(EngineDiscoveryTest, ALaterPodIsListedOnceItsEngineAnswers) {
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(Until([&] { return subscriber_.lists() > 0; }));
  ASSERT_THAT(subscriber_.all().missing_engines, SizeIs(1));
  EXPECT_EQ(subscriber_.all().missing_engines[0].why, "nothing listens in its network yet");
  const auto engine = ServeInside(8000, VllmExposition(1));
  EXPECT_TRUE(UntilEngineAt(8000));
  EXPECT_THAT(subscriber_.all().missing_engines, IsEmpty());
}

TEST_F(EngineDiscoveryTest, ReportsWhyAPodHasNoEngine) {
  const auto other = ServeInside(3000, kOtherPage);
  subscriber_.Subscribe("shop");
  std::string why;
  EXPECT_TRUE(Until([&] {
    if (!subscriber_.found().ok()) return false;
    const auto missing_engines = subscriber_.all().missing_engines;
    why = missing_engines.size() == 1 ? missing_engines[0].why : "";
    return why.find("none of its servers is a known engine") != std::string::npos;
  })) << why;
  EXPECT_EQ(subscriber_.all().missing_engines[0].pod, "web-0");
  EXPECT_THAT(why, HasSubstr(":3000/metrics: "));
}

TEST_F(EngineDiscoveryTest, AHangingThreadKeepsOnlyTheLatestReadings) {
  const auto engine = ServeInside(8000, VllmExposition(3));
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(UntilEngineAt(8000));
  subscriber_.Hang(true);
  ASSERT_TRUE(Until([&] { return subscriber_.is_hanging(); }));
  const int64_t read = discovery_->counts().read;
  const int served = engine->served();
  EXPECT_TRUE(Until([&] { return engine->served() > served + 40; }));
  subscriber_.Hang(false);
  EXPECT_TRUE(Until([&] { return discovery_->counts().read > read; }));
  EXPECT_LT(discovery_->counts().read, read + 20);
}

TEST_F(EngineDiscoveryTest, AHangingThreadIsNamedAtShutdownAndNotJoined) {
  subscriber_.Hang(true);
  ASSERT_TRUE(Until([&] { return subscriber_.is_hanging(); }));
  EXPECT_THAT(StopAll({&discovery_->thread()}, absl::Milliseconds(50)),
              ElementsAre("engine search"));
  subscriber_.Hang(false);
}

TEST_F(EngineDiscoveryTest, WithoutAttributionItFailsTheList) {
  snapshot_.attribution.state = Attribution::State::kNone;
  snapshot_.pods.clear();
  snapshot_.gpus[0].holders.clear();
  Put();
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(Until([&] { return subscriber_.lists() > 0; }));
  EXPECT_EQ(subscriber_.found().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EngineDiscoveryTest, AMissingPodsApiIsReportedAtOnceIfRequired) {
  const auto engine = ServeInside(8000, VllmExposition(3));
  Discover(/*needs_pods_api=*/true);
  const absl::Time start = clock_.Now();
  subscriber_.Subscribe("shop");
  discovery_->Wake();
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(20);
  while (subscriber_.lists() == 0 && real.Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(clock_.Now(), start);
  EXPECT_EQ(subscriber_.found().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(subscriber_.found().status().message(), HasSubstr("--discover-engines=true"));

  snapshot_.pods[0].owners_from = Pod::OwnersFrom::kReferences;
  snapshot_.pods[0].address = pod_->address();
  Put();
  EXPECT_TRUE(UntilEngineAt(8000)) << "the kubelet was upgraded";
}

TEST_F(EngineDiscoveryTest, KnownPodsStayWhileTheKubeletFails) {
  const auto engine = ServeInside(8000, VllmExposition(3));
  subscriber_.Subscribe("shop");
  ASSERT_TRUE(UntilEngineAt(8000));
  snapshot_.attribution = {.state = Attribution::State::kUnknown, .why = "it hangs"};
  snapshot_.pods.clear();
  snapshot_.gpus[0].holders.clear();
  Put();
  const int64_t read = discovery_->counts().read;
  EXPECT_TRUE(Until([&] { return discovery_->counts().read > read + 5; }));
  EXPECT_THAT(subscriber_.all().engines, SizeIs(1));
}

}  // namespace
}  // namespace gpuscaler

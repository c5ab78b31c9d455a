// Decisions on the pods of some namespaces are the same with what an agent sends for these
// namespaces as with all of its readings. Tested on many random histories.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "fleet/gpu_wire.h"
#include "fleet/telemetry_log.h"
#include "fleet/telemetry_reader.h"
#include "gtest/gtest.h"
#include "model/memory_watch.h"
#include "scaling/decision.h"
#include "scaling/test_any_trigger.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "scaling/workload_pods.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

// Farther than decisions look back: a value is held for 5 minutes. Agents and aggregators have it.
constexpr absl::Duration kShortHorizon = absl::Minutes(7);
constexpr int kDevices = 7;

// A node with four whole GPUs, and one of two MIG instances. Pods of three namespaces come, share
// GPUs, restart and end; the kubelet and the driver fail.
class RandomNode {
 public:
  explicit RandomNode(Random& random) : random_(random), has_failing_gpus_(random.OneIn(4)) {
    for (int i = 0; i < kDevices; ++i) devices_.push_back(DeviceAt(i));
  }

  void Step() {
    clock_.Advance(random_.OneIn(40) ? absl::Seconds(random_.Whole(6, 60))
                                     : absl::Seconds(random_.Whole(3, 5)));
    if (random_.OneIn(6)) StartPod();
    if (!pods_.empty() && random_.OneIn(12)) EndPod();
    if (!pods_.empty() && random_.OneIn(15)) AnyRunning().listed = !AnyRunning().listed;
    if (!pods_.empty() && random_.OneIn(8)) AnyRunning().pod.ready = random_.ThreeInFour();
    if (random_.OneIn(30)) is_attributed_ = !is_attributed_;
    for (Device& device : devices_) Change(device);
    NodeSnapshot snapshot = Snapshot();
    memory_.Annotate(snapshot);
    log_.Add(snapshot);
  }

  bool has_failing_gpus() const { return has_failing_gpus_; }
  TelemetryLog& log() { return log_; }
  FakeClock& clock() { return clock_; }

 private:
  struct Device {
    GpuSample gpu;
    bool is_there = true;
    bool is_readable = true;
  };
  struct Running {
    Pod pod;
    std::vector<size_t> devices;
    bool is_possible = false;
    bool listed = true;
  };

  static Device DeviceAt(int i) {
    constexpr int kParent = 4;
    Device device{.gpu = BusyGpu(std::min(i, kParent), 50, 60)};
    device.gpu.uuid = absl::StrCat(i > kParent ? "MIG-" : "GPU-", i);
    if (i > kParent) {
      device.gpu.parent_uuid = absl::StrCat("GPU-", kParent);
      device.gpu.power_watts.reset();  // only its parent has it
    }
    device.gpu.in_use = false;
    return device;
  }

  Running& AnyRunning() {
    return pods_[static_cast<size_t>(random_.Whole(0, static_cast<int>(pods_.size()) - 1))];
  }
  void StartPod() {
    constexpr const char* kNamespaces[] = {"a", "a", "b", "c"};
    constexpr const char* kOwners[] = {"llm", "llm", "llm", "chat"};
    Running& added = pods_.emplace_back();
    const std::string owner = kOwners[random_.Whole(0, 3)];
    added.pod = {.namespace_name = kNamespaces[random_.Whole(0, 3)],
                 .name = absl::StrCat(owner, "-", ++started_),
                 .uid = random_.ThreeInFour() ? absl::StrCat("uid-", started_) : "",
                 .owners = {{.kind = "Deployment", .name = owner}},
                 .owners_from = Pod::OwnersFrom::kReferences};
    if (random_.ThreeInFour()) added.pod.ready = random_.ThreeInFour();
    if (random_.ThreeInFour()) added.pod.listed_since = clock_.Now();
    added.is_possible = random_.OneIn(8);
    std::set<size_t> devices;
    for (int i = random_.Whole(1, 2); i > 0; --i) {
      devices.insert(static_cast<size_t>(random_.Whole(0, kDevices - 1)));
    }
    added.devices.assign(devices.begin(), devices.end());
  }
  void EndPod() { pods_.erase(pods_.begin() + (&AnyRunning() - pods_.data())); }

  void Change(Device& device) {
    if (random_.OneIn(60)) device.is_there = !device.is_there;
    if (has_failing_gpus_ && random_.OneIn(40)) device.is_readable = !device.is_readable;
    if (random_.OneIn(3)) device.gpu.utilization_percent = random_.Whole(0, 100);
    if (random_.OneIn(20)) device.gpu.memory_used_bytes = random_.Whole(1, 79) * 1'000'000'000LL;
    if (device.gpu.power_watts && random_.OneIn(3)) device.gpu.power_watts = random_.Whole(50, 700);
    const size_t index = static_cast<size_t>(&device - devices_.data());
    const bool in_use = std::ranges::any_of(pods_, [index](const Running& running) {
      return !running.is_possible &&
             std::ranges::find(running.devices, index) != running.devices.end();
    });
    if (in_use && (!device.gpu.in_use || !device.is_there)) device.gpu.held_since = clock_.Now();
    device.gpu.in_use = in_use;
  }

  NodeSnapshot Snapshot() const {
    NodeSnapshot snapshot{.taken_at = clock_.Now(), .node = "gpu-1", .source = "nvml"};
    for (const Device& device : devices_) {
      if (!device.is_there) continue;
      GpuSample& gpu = snapshot.gpus.Own().emplace_back(device.gpu);
      if (!device.is_readable) {
        gpu.utilization_percent.reset();
        gpu.gaps.push_back({GpuField::kUtilization, GpuGap::Reason::kFailed, "NVML error 15"});
      }
    }
    if (!is_attributed_) {
      snapshot.attribution = {.state = Attribution::State::kUnknown, .why = "no answer"};
      return snapshot;
    }
    snapshot.attribution.state = Attribution::State::kKnown;
    for (const bool are_possible : {false, true}) {
      for (const Running& running : pods_) {
        if (running.listed && running.is_possible == are_possible) AddHolder(running, snapshot);
      }
    }
    for (GpuSample& gpu : snapshot.gpus.Own()) SetShares(gpu);
    return snapshot;
  }
  void AddHolder(const Running& running, NodeSnapshot& snapshot) const {
    bool has_gpu = false;
    std::vector<GpuSample>& gpus = snapshot.gpus.Own();
    for (const size_t index : running.devices) {
      const auto gpu = std::ranges::find(gpus, devices_[index].gpu.uuid, &GpuSample::uuid);
      if (gpu == gpus.end()) continue;
      gpu->holders.push_back({.pod = static_cast<int>(snapshot.pods.size()),
                              .container = "main",
                              .is_possible = running.is_possible});
      has_gpu = true;
    }
    if (has_gpu) snapshot.pods.push_back(running.pod);
  }
  static void SetShares(GpuSample& gpu) {
    const auto certain = std::ranges::count(gpu.holders, false, &GpuHolder::is_possible);
    for (GpuHolder& holder : gpu.holders) {
      holder.share = holder.is_possible ? 0 : 1.0 / static_cast<double>(certain);
    }
  }

  Random& random_;
  const bool has_failing_gpus_;
  FakeClock clock_;
  std::vector<Device> devices_;
  std::vector<Running> pods_;
  bool is_attributed_ = true;
  int started_ = 0;
  MemoryWatch memory_;
  TelemetryLog log_{kShortHorizon, [] {
                      telemetry::v1::Node self;
                      self.set_instance(1);
                      return self;
                    }()};
};

// An aggregator's end of the node's stream.
class NodeReader {
 public:
  // Empty `namespaces`: all.
  NodeReader(RandomNode& node, const std::set<std::string>& namespaces)
      : node_(node), namespaces_(namespaces) {
    store_.Listed(std::vector<std::string>{kAddress});
    Connect();
  }

  // Begins a new stream, which continues from the newest reading.
  void Reconnect() {
    store_.Lost(kAddress, absl::UnavailableError("connection reset"));
    part_ = nullptr;
    reader_.Begin();
    Connect();
  }

  void TakeAll() {
    telemetry::v1::Telemetry message;
    do {
      message.Clear();
      (part_ == nullptr ? node_.log() : *part_).AppendNew(cursor_, message);
      message.set_sent_us(ToWire(node_.clock().Now()));
      bytes_ += message.ByteSizeLong();
      const bool more = message.more();
      const absl::Status status =
          reader_.Read(message, node_.clock().Now(),
                       [this](const AgentUpdate& update) { store_.Received(kAddress, update); });
      ASSERT_TRUE(status.ok()) << status;
      message.set_more(more);
    } while (message.more());
  }

  absl::StatusOr<Decision> DecisionOf(const Trigger& trigger, const ScaledObjectRef& ref) const {
    const auto fleet = store_.NodesFor(PodsOfInterest(trigger, ref));
    if (!fleet.ok()) return fleet.status();
    return Decide(trigger, ref, **fleet, kStaleness);
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr char kAddress[] = "10.0.0.1:6001";

  void Connect() {
    cursor_ = {.history = kShortHorizon};
    if (namespaces_.empty()) return;
    const auto part = node_.log().LogOf(namespaces_, true);
    ASSERT_TRUE(part.ok()) << part.status();
    node_.log().FillParts();
    part_ = *part;
  }

  RandomNode& node_;
  const std::set<std::string> namespaces_;
  std::shared_ptr<const TelemetryLog> part_;  // null: all namespaces
  TelemetryLog::Cursor cursor_;
  TelemetryReader reader_;
  FleetStore store_{node_.clock(),
                    {.timeouts = {.grace = kStaleness.grace,
                                  .forget_after = absl::Minutes(5),
                                  .empty_after = absl::Minutes(1)},
                     .limits = {.horizon = kShortHorizon, .join_within = kStaleness.stale_after}}};
  size_t bytes_ = 0;
};

Trigger AnyTriggerOfNamespace(Random& random) {
  constexpr MetricType kMetrics[] = {MetricType::kGpuUtilization, MetricType::kGpuUtilization,
                                     MetricType::kMemoryUsedPercent, MetricType::kPowerDraw};
  Trigger trigger = AnyTriggerOnPods(random);
  if (random.ThreeInFour()) trigger.workload = random.ThreeInFour() ? "llm" : "chat";
  if (random.OneIn(5)) trigger.gpu_index = random.Whole(0, 4);
  trigger.metric = kMetrics[random.Whole(0, 3)];
  trigger.preallocation_window = absl::Seconds(random.Whole(10, 90));
  return trigger;
}

// Without ages: that of a missing value is that of a tick, and other GPUs cause more ticks. For the
// same reason the load of a GPU that fails is left out (`has_loads`).
std::string SummaryOf(const absl::StatusOr<Decision>& decision, bool has_loads) {
  if (!decision.ok()) return decision.status().ToString();
  const auto load_text = [has_loads](double load) {
    return has_loads ? absl::StrCat(" ", std::round(load * 1000) / 1000) : "";
  };
  std::string text = absl::StrCat(
      absl::IsUnavailable(decision->status) ? "UNAVAILABLE" : decision->status.ToString(),
      " active ", decision->active, load_text(decision->value), " R ", decision->replicas, " ",
      decision->replicas_from, " unreadable ", decision->unreadable, " starting ",
      decision->starting, " terminating ", decision->terminating, " partial ", decision->partial);
  for (const Contribution& each : decision->contributions) {
    absl::StrAppend(&text, "\n  ", each.name, " ", absl::StrJoin(each.gpus, ","), " ",
                    Name(each.state), load_text(each.load.value_or(-1)), " ", each.is_preallocated);
  }
  return text;
}

TEST(NamespaceDecision, IsTheSameFromAPartOfTheReadings) {
  size_t all_bytes = 0;
  size_t part_bytes = 0;
  int values = 0;
  ForManySeeds([&](Random& random) {
    if (!random.OneIn(3)) return;  // each history is long
    RandomNode node(random);
    for (int i = random.Whole(1, 90); i > 0; --i) node.Step();
    NodeReader all(node, {});
    NodeReader part(node, {"a"});
    const ScaledObjectRef ref{.namespace_name = "a", .name = random.OneIn(2) ? "llm" : "scaler"};
    std::vector<Trigger> triggers;
    for (int i = 0; i < 2; ++i) triggers.push_back(AnyTriggerOfNamespace(random));
    // How long the first reading of all was valid before depends on the next change of any GPU.
    const absl::Time first_forgotten_at = node.clock().Now() + kShortHorizon + absl::Minutes(1);
    for (int step = 0; step < 150; ++step) {
      node.Step();
      if (random.OneIn(40)) {
        all.Reconnect();
        part.Reconnect();
      }
      if (random.ThreeInFour()) continue;
      all.TakeAll();
      part.TakeAll();
      if (node.clock().Now() < first_forgotten_at) continue;
      for (const Trigger& trigger : triggers) {
        const auto wanted = all.DecisionOf(trigger, ref);
        const bool has_loads = !node.has_failing_gpus();
        EXPECT_EQ(SummaryOf(part.DecisionOf(trigger, ref), has_loads), SummaryOf(wanted, has_loads))
            << "step " << step;
        values += wanted.ok() && wanted->status.ok() && wanted->replicas > 0 ? 1 : 0;
      }
      if (testing::Test::HasFailure()) return;
    }
    all_bytes += all.bytes();
    part_bytes += part.bytes();
  });
  EXPECT_GT(values, 300 / kPartOfSeeds) << "the cases show something";
  EXPECT_LT(part_bytes, all_bytes * 9 / 10) << "half of the pods, most GPUs shared";
}

}  // namespace
}  // namespace gpuscaler

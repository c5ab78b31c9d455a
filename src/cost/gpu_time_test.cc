#include "cost/gpu_time.h"

#include <map>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const absl::Time kGpuTimeBegins = absl::FromUnixSeconds(1'767'225'600);

// Adds readings, and sums up what is booked.
class BookedTime {
 public:
  explicit BookedTime(const GpuTimeLimits& limits = {.stale_after = absl::Seconds(5)})
      : time_(limits) {}

  void Add(const NodeSnapshot& snapshot, absl::Duration later) {
    time_.Add(snapshot, kGpuTimeBegins + later, Booking());
  }
  void BookMissing(absl::Duration later) { time_.BookMissing(kGpuTimeBegins + later, Booking()); }

  // In seconds, without zeros: {"shop/chat busy", 3}.
  std::map<std::string, double> Seconds() const {
    std::map<std::string, double> seconds;
    for (const auto& [key, times] : times_) {
      const std::string workload =
          key.workload.empty() ? "" : key.namespace_name + "/" + key.workload + " ";
      for (const GpuState state : kAllGpuStates) {
        if (times[state] == 0) continue;
        seconds[workload + std::string(Name(state))] += static_cast<double>(times[state]) / 1e6;
      }
    }
    return seconds;
  }
  int64_t Total() const {
    int64_t total = 0;
    for (const auto& [key, times] : times_) total += times.Total();
    return total;
  }
  const std::map<UsageKey, StateTimes>& times() const { return times_; }

 private:
  std::function<void(const UsageKey&, GpuState, int64_t)> Booking() {
    return [this](const UsageKey& key, GpuState state, int64_t micros) {
      EXPECT_GT(micros, 0);
      times_[key][state] += micros;
    };
  }

  GpuTime time_;
  std::map<UsageKey, StateTimes> times_;
};

NodeSnapshot Attributed() {
  NodeSnapshot snapshot{.node = "gpu-7"};
  snapshot.attribution.state = Attribution::State::kKnown;
  return snapshot;
}

Pod ReadyPod(const std::string& workload, std::optional<bool> ready = true) {
  return {.namespace_name = "shop",
          .name = workload + "-0",
          .owners = {{.kind = "StatefulSet", .name = workload}},
          .ready = ready};
}

NodeSnapshot HeldBy(const Pod& pod, std::optional<double> utilization) {
  NodeSnapshot snapshot = Attributed();
  snapshot.pods = {pod};
  snapshot.gpus = {{.uuid = "GPU-a",
                    .name = "NVIDIA H200",
                    .utilization_percent = utilization,
                    .memory_used_bytes = 1,
                    .holders = {{.pod = 0}}}};
  return snapshot;
}

NodeSnapshot FreeGpu() {
  NodeSnapshot snapshot = Attributed();
  snapshot.gpus = {{.uuid = "GPU-a", .name = "NVIDIA H200", .utilization_percent = 0}};
  return snapshot;
}

TEST(GpuTime, AReadingCoversTheTimeBeforeIt) {
  BookedTime booked;
  booked.Add(FreeGpu(), absl::ZeroDuration());
  EXPECT_EQ(booked.Total(), 0);
  booked.Add(HeldBy(ReadyPod("chat"), 40), absl::Seconds(2));
  booked.Add(FreeGpu(), absl::Seconds(3));
  EXPECT_THAT(booked.Seconds(), UnorderedElementsAre(Pair("shop/chat busy", 2), Pair("free", 1)));
}

TEST(GpuTime, AHeldGpuAtZeroIsIdleAfterFiveMinutes) {
  BookedTime booked;
  for (int second = 0; second <= 400; second += 2) {
    booked.Add(HeldBy(ReadyPod("chat"), 0), absl::Seconds(second));
  }
  EXPECT_THAT(booked.Seconds(),
              UnorderedElementsAre(Pair("shop/chat busy", 298), Pair("shop/chat idle", 102)));
  booked.Add(HeldBy(ReadyPod("chat"), 1), absl::Seconds(402));
  booked.Add(HeldBy(ReadyPod("chat"), 0), absl::Seconds(404));
  EXPECT_EQ(booked.Seconds()["shop/chat busy"], 302);
}

TEST(GpuTime, AnotherHolderIsIdleByItsOwnTime) {
  BookedTime booked({.idle_after = absl::Seconds(10), .stale_after = absl::Seconds(5)});
  for (int second = 0; second <= 20; second += 2) {
    booked.Add(HeldBy(ReadyPod("chat"), 0), absl::Seconds(second));
  }
  booked.Add(HeldBy(ReadyPod("batch"), 0), absl::Seconds(22));
  EXPECT_EQ(booked.Seconds()["shop/batch busy"], 2);
}

TEST(GpuTime, APodThatIsNotReadyStartsForThirtyMinutes) {
  Pod pod = ReadyPod("chat", false);
  pod.listed_since = kGpuTimeBegins - absl::Minutes(29);
  BookedTime booked({.stale_after = absl::Seconds(40)});
  booked.Add(HeldBy(pod, 100), absl::ZeroDuration());
  booked.Add(HeldBy(pod, 100), absl::Seconds(30));
  booked.Add(HeldBy(pod, 100), absl::Seconds(61));
  pod.was_ready = true;
  pod.listed_since = kGpuTimeBegins;
  booked.Add(HeldBy(pod, 100), absl::Seconds(70));
  EXPECT_THAT(booked.Seconds(),
              UnorderedElementsAre(Pair("shop/chat starting", 30), Pair("shop/chat busy", 40)));
}

TEST(GpuTime, WithoutThePodsApiAPodStartsUntilItsMemoryIsSteady) {
  NodeSnapshot snapshot = HeldBy(ReadyPod("chat", std::nullopt), 100);
  GpuSample& gpu = snapshot.gpus[0];
  gpu.in_use = true;
  gpu.held_since = kGpuTimeBegins;
  BookedTime booked({.stale_after = absl::Seconds(5)});
  for (int second = 0; second <= 200; second += 2) {
    gpu.steady_memory.Add(kGpuTimeBegins + absl::Seconds(second), second < 20 ? 10 : 90);
    booked.Add(snapshot, absl::Seconds(second));
  }
  // High from 20 s on, and steady from 140 s on.
  EXPECT_EQ(booked.Seconds()["shop/chat starting"], 138);
  EXPECT_EQ(booked.Seconds()["shop/chat busy"], 62);
}

TEST(GpuTime, AHolderFromBeforeTheAgentDoesNotStart) {
  NodeSnapshot snapshot = HeldBy(ReadyPod("chat", std::nullopt), 100);
  snapshot.gpus[0].in_use = true;
  BookedTime booked;
  booked.Add(snapshot, absl::ZeroDuration());
  booked.Add(snapshot, absl::Seconds(2));
  EXPECT_THAT(booked.Seconds(), UnorderedElementsAre(Pair("shop/chat busy", 2)));
}

TEST(GpuTime, SharesOfAGpuAddUpToIt) {
  NodeSnapshot snapshot = HeldBy(ReadyPod("chat"), 40);
  snapshot.pods.push_back(ReadyPod("batch"));
  snapshot.pods.push_back(ReadyPod("possible"));
  snapshot.gpus[0].holders = {{.pod = 0, .share = 0.25},
                              {.pod = 1, .share = 0.75},
                              {.pod = 2, .share = 0, .is_possible = true}};
  BookedTime booked;
  booked.Add(snapshot, absl::ZeroDuration());
  booked.Add(snapshot, absl::Seconds(4));
  EXPECT_THAT(booked.Seconds(),
              UnorderedElementsAre(Pair("shop/chat busy", 1), Pair("shop/batch busy", 3)));
}

TEST(GpuTime, MigInstancesCountTheirSlicesAndTheRestIsFree) {
  NodeSnapshot snapshot = HeldBy(ReadyPod("chat"), std::nullopt);
  snapshot.gpus[0].holders.clear();
  snapshot.gpus[0].is_in_mig_mode = true;
  snapshot.gpus.push_back({.uuid = "MIG-1",
                           .parent_uuid = "GPU-a",
                           .name = "NVIDIA H200 MIG 3g.71gb",
                           .utilization_percent = 50,
                           .holders = {{.pod = 0}}});
  snapshot.gpus.push_back({.uuid = "MIG-2",
                           .parent_uuid = "GPU-a",
                           .name = "NVIDIA H200 MIG 2g.35gb",
                           .utilization_percent = 0});
  BookedTime booked({.stale_after = absl::Seconds(10)});
  booked.Add(snapshot, absl::ZeroDuration());
  booked.Add(snapshot, absl::Seconds(7));
  EXPECT_THAT(booked.Seconds(), UnorderedElementsAre(Pair("shop/chat busy", 3), Pair("free", 4)));
  for (const auto& [key, times] : booked.times()) EXPECT_EQ(key.gpu_model, "NVIDIA H200");
}

TEST(GpuTime, WithoutKnowledgeTheTimeIsUnknown) {
  const auto unreadable = [] { return HeldBy(ReadyPod("chat"), std::nullopt); };
  const auto no_kubelet = [] {
    NodeSnapshot snapshot = FreeGpu();
    snapshot.attribution.state = Attribution::State::kUnknown;
    return snapshot;
  };
  const auto possible = [] {
    NodeSnapshot snapshot = HeldBy(ReadyPod("chat"), 40);
    snapshot.gpus[0].holders[0].is_possible = true;
    return snapshot;
  };
  const auto lost = [] {
    NodeSnapshot snapshot = FreeGpu();
    snapshot.gpus[0].utilization_percent.reset();
    return snapshot;
  };
  const auto hidden = [] {
    NodeSnapshot snapshot = FreeGpu();
    snapshot.gpus[0].is_in_mig_mode = true;
    return snapshot;
  };
  BookedTime booked;
  booked.Add(unreadable(), absl::ZeroDuration());
  booked.Add(unreadable(), absl::Seconds(1));
  booked.Add(no_kubelet(), absl::Seconds(2));
  booked.Add(possible(), absl::Seconds(3));
  booked.Add(lost(), absl::Seconds(4));
  booked.Add(hidden(), absl::Seconds(5));
  EXPECT_THAT(booked.Seconds(),
              UnorderedElementsAre(Pair("shop/chat unknown", 1), Pair("unknown", 4)));
}

TEST(GpuTime, WithoutAttributionAGpuInUseIsBusyOrIdle) {
  NodeSnapshot snapshot = FreeGpu();
  snapshot.attribution.state = Attribution::State::kNone;
  BookedTime booked({.idle_after = absl::Seconds(3), .stale_after = absl::Seconds(5)});
  booked.Add(snapshot, absl::ZeroDuration());
  booked.Add(snapshot, absl::Seconds(1));
  snapshot.gpus[0].in_use = true;
  snapshot.gpus[0].utilization_percent = 10;
  booked.Add(snapshot, absl::Seconds(3));
  snapshot.gpus[0].utilization_percent = 0;
  booked.Add(snapshot, absl::Seconds(5));
  booked.Add(snapshot, absl::Seconds(7));
  EXPECT_THAT(booked.Seconds(),
              UnorderedElementsAre(Pair("free", 1), Pair("busy", 4), Pair("idle", 2)));
}

TEST(GpuTime, AGapIsUnknownBeyondWhatTheNextReadingCovers) {
  BookedTime booked;
  booked.Add(FreeGpu(), absl::ZeroDuration());
  booked.Add(HeldBy(ReadyPod("chat"), 40), absl::Seconds(60));
  EXPECT_THAT(booked.Seconds(),
              UnorderedElementsAre(Pair("unknown", 55), Pair("shop/chat busy", 5)));
}

TEST(GpuTime, MissingTimeIsBookedOnce) {
  BookedTime booked;
  booked.BookMissing(absl::Seconds(60));
  booked.Add(FreeGpu(), absl::ZeroDuration());
  booked.BookMissing(absl::Seconds(4));
  EXPECT_EQ(booked.Total(), 0);
  booked.BookMissing(absl::Seconds(30));
  booked.BookMissing(absl::Seconds(20));
  booked.Add(FreeGpu(), absl::Seconds(32));
  EXPECT_THAT(booked.Seconds(), UnorderedElementsAre(Pair("unknown", 27), Pair("free", 5)));
}

TEST(WorkloadName, IsTheLastOwnerOfAChainOrTheFirstPossibleOne) {
  Pod pod{.name = "web-6d4cf56db6-x7k2p"};
  EXPECT_EQ(WorkloadName(pod), "web-6d4cf56db6-x7k2p");
  pod.owners = {{.kind = "Deployment", .name = "web"}, {.kind = "ReplicaSet", .name = "web-6d4"}};
  EXPECT_EQ(WorkloadName(pod), "web");
  pod.owners_from = Pod::OwnersFrom::kReferences;
  pod.owners = {{.kind = "ReplicaSet", .name = "web-6d4cf56db6"},
                {.kind = "Deployment", .name = "web"}};
  EXPECT_EQ(WorkloadName(pod), "web");
}

// Random nodes: whole, shared, divided, unreadable, lost and added GPUs, at random times.
class RandomNode {
 public:
  explicit RandomNode(unsigned seed) : random_(seed) {}

  NodeSnapshot Next() {
    NodeSnapshot snapshot = Attributed();
    const int state = Below(10);
    if (state == 0) snapshot.attribution.state = Attribution::State::kUnknown;
    if (state == 1) snapshot.attribution.state = Attribution::State::kNone;
    for (int i = 0; i < 4; ++i) snapshot.pods.push_back(ReadyPod("w" + std::to_string(Below(6))));
    if (Below(8) == 0) gpus_ = Below(5);
    for (int gpu = 0; gpu < gpus_; ++gpu) AddGpu(gpu, snapshot);
    return snapshot;
  }
  int Below(int limit) { return std::uniform_int_distribution<>(0, limit - 1)(random_); }
  int gpus() const { return gpus_; }

 private:
  void AddGpu(int index, NodeSnapshot& snapshot) {
    const std::string uuid = "GPU-" + std::to_string(index);
    GpuSample whole{.uuid = uuid, .name = index % 2 == 0 ? "NVIDIA H200" : "NVIDIA L4"};
    const int parts = Below(3) == 0 ? Below(8) : 0;
    if (parts == 0) Fill(whole);
    snapshot.gpus.push_back(whole);
    for (int i = 0; i < parts; ++i) {
      GpuSample part{.uuid = uuid + "/" + std::to_string(i), .parent_uuid = uuid};
      if (Below(2) == 0) part.name = "NVIDIA H200 MIG 1g.18gb";
      Fill(part);
      snapshot.gpus.push_back(part);
    }
  }
  void Fill(GpuSample& gpu) {
    if (Below(5) > 0) gpu.utilization_percent = Below(3) * 10;
    gpu.in_use = Below(2) == 0;
    for (int i = Below(4); i > 0; --i) {
      gpu.holders.push_back({.pod = i, .share = Below(4) / 3.0, .is_possible = Below(6) == 0});
    }
  }

  std::mt19937 random_;
  int gpus_ = 2;
};

TEST(GpuTime, StatesAddUpToGpusTimesTime) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomNode node(seed);
    BookedTime booked({.idle_after = absl::Seconds(20), .stale_after = absl::Seconds(5)});
    absl::Duration at = absl::Nanoseconds(node.Below(1'000'000'000));
    booked.Add(node.Next(), at);
    int64_t expected = 0;
    int64_t reached = absl::ToUnixMicros(kGpuTimeBegins + at);
    for (int reading = 0; reading < 200; ++reading) {
      const int before = node.gpus();
      at += absl::Nanoseconds(node.Below(2'000'000'000)) + absl::Seconds(node.Below(20) / 18 * 30);
      if (node.Below(10) == 0) {
        booked.BookMissing(at);
        const int64_t until = absl::ToUnixMicros(kGpuTimeBegins + at - absl::Seconds(5));
        expected += before * std::max<int64_t>(0, until - reached);
        reached = std::max(reached, until);
        continue;
      }
      booked.Add(node.Next(), at);
      const int64_t now = absl::ToUnixMicros(kGpuTimeBegins + at);
      expected += node.gpus() * (now - reached);
      reached = now;
      ASSERT_EQ(booked.Total(), expected) << "seed " << seed << ", reading " << reading;
    }
    EXPECT_GT(expected, 0) << seed;
  }
}

}  // namespace
}  // namespace gpuscaler

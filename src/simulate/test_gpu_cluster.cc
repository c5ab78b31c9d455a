#include "simulate/test_gpu_cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Multiples of the golden ratio are spread evenly over [0, 1) for any number of pods.
PodTemplate WithOwnStart(PodTemplate made_from, int number) {
  constexpr double kGoldenRatio = 0.618033988749895;
  const double turns = kGoldenRatio * number;
  made_from.start += made_from.start_spread * (turns - std::floor(turns));
  return made_from;
}

}  // namespace

std::string SimulatedPod::Address() const {
  return absl::StrCat("10.1.", number / 250, ".", 1 + number % 250);
}

GpuCluster::GpuCluster(const Options& options, absl::Time start)
    : options_(options),
      now_(start),
      cordoned_(static_cast<size_t>(options.nodes)),
      owner_listed_since_(static_cast<size_t>(options.nodes), absl::InfiniteFuture()) {}

void GpuCluster::Create(const PodTemplate& made_from, int revision, int ordinal) {
  const int number = created_++;
  pods_.push_back({.number = number,
                   .name = absl::StrCat("llm-", revision, "-", number),
                   .revision = revision,
                   .ordinal = ordinal,
                   .made_from = WithOwnStart(made_from, number),
                   .created_at = now_});
}

SimulatedPod* GpuCluster::Find(const std::string& name) {
  const auto found = std::ranges::find(pods_, name, &SimulatedPod::name);
  return found == pods_.end() ? nullptr : &*found;
}

void GpuCluster::Delete(const std::string& name) {
  SimulatedPod* const pod = Find(name);
  if (pod == nullptr || pod->IsTerminating()) return;
  pod->deleted_at = now_;
  if (pod->IsPending()) Lose(name);
}

void GpuCluster::Lose(const std::string& name) {
  std::erase_if(pods_, [&](const SimulatedPod& pod) { return pod.name == name; });
}

void GpuCluster::Cordon(int node) { cordoned_[static_cast<size_t>(node)] = true; }

void GpuCluster::Drain(int node) {
  Cordon(node);
  for (SimulatedPod& pod : pods_) {
    if (pod.gpu >= 0 && pod.gpu / options_.gpus_per_node == node && !pod.IsTerminating()) {
      pod.deleted_at = now_;
    }
  }
}

int GpuCluster::FreeGpu() const {
  for (int gpu = 0; gpu < options_.nodes * options_.gpus_per_node; ++gpu) {
    if (cordoned_[NodeOf(gpu)]) continue;
    const bool is_free = std::ranges::find(pods_, gpu, &SimulatedPod::gpu) == pods_.end() &&
                         std::ranges::find(others_, gpu, &OtherPod::gpu) == others_.end();
    if (is_free) return gpu;
  }
  return -1;
}

void GpuCluster::StartOther(const PodOwner& owner, int pods) {
  for (int i = 0; i < pods; ++i) {
    const std::string name = absl::StrCat(owner.name, "-", others_.size());
    Pod pod{.namespace_name = "team-a",
            .name = name,
            .uid = name,
            .owners = {owner},
            .owners_from = Pod::OwnersFrom::kReferences,
            .listed_since = now_};
    if (options_.pods_api) {
      pod.ready = pod.was_ready = true;
      pod.is_terminating = false;
    }
    others_.push_back({.pod = std::move(pod), .gpu = FreeGpu()});
  }
}

void GpuCluster::Schedule(SimulatedPod& pod) {
  if (now_ - pod.created_at < options_.scheduling) return;
  pod.gpu = FreeGpu();
  if (pod.IsPending()) return;
  pod.scheduled_at = pod.container_started_at = now_;
  absl::Time& since = owner_listed_since_[NodeOf(pod.gpu)];
  since = std::min(since, now_);
}

void GpuCluster::Run(SimulatedPod& pod) {
  if (now_ - pod.container_started_at >= pod.made_from.crash_after) {
    pod.container_started_at = now_;
  }
  pod.ready = !pod.made_from.is_broken && now_ - pod.container_started_at >= pod.made_from.start;
  pod.was_ready |= pod.ready;
}

void GpuCluster::Advance(absl::Time now) {
  now_ = now;
  std::erase_if(pods_, [this](const SimulatedPod& pod) {
    return pod.IsTerminating() && now_ - pod.deleted_at >= pod.made_from.grace;
  });
  for (SimulatedPod& pod : pods_) {
    if (pod.IsTerminating()) continue;
    if (pod.IsPending()) Schedule(pod);
    if (!pod.IsPending()) Run(pod);
  }
}

int GpuCluster::Active() const {
  return static_cast<int>(std::ranges::count(pods_, false, &SimulatedPod::IsTerminating));
}

int GpuCluster::Available() const {
  return static_cast<int>(std::ranges::count(pods_, true, &SimulatedPod::IsAvailable));
}

Pod GpuCluster::PodOf(const SimulatedPod& simulated) const {
  Pod pod{.namespace_name = "team-a",
          .name = simulated.name,
          .uid = simulated.name,
          .owners = {{.kind = "Deployment", .name = "llm", .group = ""}},
          .owners_from = Pod::OwnersFrom::kReferences,
          .address = simulated.Address(),
          .listed_since = simulated.scheduled_at,
          .owner_listed_since = owner_listed_since_[NodeOf(simulated.gpu)]};
  if (!options_.pods_api) return pod;
  pod.ready = simulated.ready;
  pod.was_ready = simulated.was_ready;
  pod.is_terminating = simulated.IsTerminating();
  return pod;
}

double GpuCluster::MemoryPercent(const SimulatedPod& pod) const {
  constexpr double kLoadingPart = 0.7;
  const double started =
      absl::FDivDuration(now_ - pod.container_started_at, pod.made_from.start * kLoadingPart);
  return options_.memory_percent * std::clamp(started, 0.0, 1.0);
}

std::vector<NodeSnapshot> GpuCluster::Snapshots(Utilization utilization) const {
  constexpr int64_t kMemoryBytes = 80LL << 30;
  std::vector<NodeSnapshot> snapshots(static_cast<size_t>(options_.nodes));
  for (int gpu = 0; gpu < options_.nodes * options_.gpus_per_node; ++gpu) {
    const int node = gpu / options_.gpus_per_node;
    NodeSnapshot& snapshot = snapshots[static_cast<size_t>(node)];
    snapshot.taken_at = now_;
    snapshot.node = absl::StrCat("gpu-", node);
    snapshot.attribution.state = Attribution::State::kKnown;
    GpuSample& sample = snapshot.gpus.Own().emplace_back();
    sample.index = gpu % options_.gpus_per_node;
    sample.uuid = absl::StrCat("GPU-", gpu);
    sample.name = "Simulated 80 GB";
    sample.utilization_percent = 0;
    sample.memory_total_bytes = kMemoryBytes;
    sample.memory_used_bytes = 0;
    const auto hold = [&](double memory_percent, double utilization_percent, absl::Time since,
                          Pod pod) {
      sample.in_use = true;
      sample.held_since = since;
      sample.utilization_percent = utilization_percent;
      sample.memory_used_bytes =
          static_cast<int64_t>(memory_percent / 100 * static_cast<double>(kMemoryBytes));
      sample.holders = {{.pod = static_cast<int>(snapshot.pods.size()), .container = "main"}};
      snapshot.pods.push_back(std::move(pod));
    };
    if (const auto pod = std::ranges::find(pods_, gpu, &SimulatedPod::gpu); pod != pods_.end()) {
      hold(MemoryPercent(*pod), utilization(*pod), pod->scheduled_at, PodOf(*pod));
    } else if (const auto other = std::ranges::find(others_, gpu, &OtherPod::gpu);
               other != others_.end()) {
      hold(options_.memory_percent, 100, *other->pod.listed_since, other->pod);
    }
  }
  return snapshots;
}

}  // namespace gpuscaler

#include "simulate/test_cluster_engines.h"

#include <algorithm>
#include <cmath>

#include "simulate/arrivals.h"

namespace gpuscaler {
namespace {

constexpr int kVllmPort = 8000;
constexpr int kMaxBatchesHeld = 2;

}  // namespace

ClusterEngines::ClusterEngines(const EnginePreset& preset, absl::Time start)
    : preset_(preset),
      workload_({.engine = preset.batch, .grace = absl::InfiniteDuration()}, start) {}

absl::Duration ClusterEngines::NextGap() {
  return absl::Seconds(-std::log1p(-UniformRandom(random_)) / requests_per_second_);
}

void ClusterEngines::SetRate(double requests_per_second) {
  requests_per_second_ = requests_per_second;
  next_arrival_ = requests_per_second > 0 ? workload_.now() + NextGap() : absl::InfiniteFuture();
}

void ClusterEngines::SyncEngines(const GpuCluster& cluster) {
  std::erase_if(engines_, [&](const auto& each) {
    const auto pod = std::ranges::find(cluster.pods(), each.first, &SimulatedPod::name);
    const bool runs = pod != cluster.pods().end() && pod->ready;
    if (!runs) workload_.Lose(each.second.number);
    return !runs;
  });
  for (const SimulatedPod& pod : cluster.pods()) {
    if (pod.IsTerminating()) {
      if (const auto found = engines_.find(pod.name); found != engines_.end()) {
        workload_.Terminate(found->second.number);
      }
    } else if (pod.ready && !engines_.contains(pod.name)) {
      const SimulatedReplica& replica = workload_.StartReadyAt(workload_.now());
      engines_[pod.name] = {.place = {.address = pod.Address(),
                                      .port = kVllmPort,
                                      .namespace_name = "team-a",
                                      .pod = pod.name},
                            .number = replica.number,
                            .engine = replica.engine};
    }
  }
}

void ClusterEngines::Submit() {
  const int64_t most = int64_t{kMaxBatchesHeld} * preset_.batch.max_num_seqs;
  const bool has_room = std::ranges::any_of(workload_.pods(), [&](const SimulatedReplica& replica) {
    return replica.IsReady(workload_.now()) && replica.engine->held() < most;
  });
  if (has_room) workload_.Submit(preset_.request);
}

void ClusterEngines::Advance(const GpuCluster& cluster) {
  SyncEngines(cluster);
  for (; next_arrival_ <= cluster.now(); next_arrival_ += NextGap()) {
    workload_.Advance(next_arrival_);
    Submit();
  }
  workload_.Advance(cluster.now());
  workload_.ClearEvents();
}

std::vector<ReadEngine> ClusterEngines::AnsweringEngines() const {
  std::vector<ReadEngine> engines;
  for (const auto& [name, engine] : engines_) {
    engines.push_back({.place = engine.place, .engine = engine.engine.get()});
  }
  return engines;
}

bool ClusterEngines::IsBusy(const SimulatedPod& pod) const {
  const auto found = engines_.find(pod.name);
  return found != engines_.end() && found->second.engine->Gauges().running > 0;
}

}  // namespace gpuscaler

// Fleets for tests: pods on nodes at successive instants, two seconds apart.
//
//   FleetBuilder fleet;
//   fleet.RepeatFor(kLong, {Node("gpu-1", {{.name = "llm-a", .owner = "llm", .loads = {60}}})});
//   Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, fleet.fleet(), kStaleness);
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/fleet_history.h"
#include "model/memory_watch.h"
#include "scaling/test_history_builder.h"

namespace gpuscaler {

// A pod that has whole GPUs to itself.
struct GpuPod {
  std::string name;
  std::string owner;          // "llm" or "StatefulSet/llm"; empty: none
  std::vector<double> loads;  // the utilization of each of its GPUs
  std::optional<bool> ready;
  std::string namespace_name = "team-a";
  std::string group;
  std::vector<PodOwner> may_be;  // possible owners, known from its name alone; replaces `owner`
  double memory_used_percent = 10;
  std::optional<absl::Time> listed_since = std::nullopt;
  std::optional<bool> is_terminating = std::nullopt;
};

inline Pod PodOf(const GpuPod& gpu_pod) {
  Pod pod{
      .namespace_name = gpu_pod.namespace_name,
      .name = gpu_pod.name,
      .owners = gpu_pod.may_be,
      .owners_from = gpu_pod.may_be.empty() ? Pod::OwnersFrom::kReferences : Pod::OwnersFrom::kName,
      .ready = gpu_pod.ready,
      .is_terminating = gpu_pod.is_terminating,
      .listed_since = gpu_pod.listed_since};
  const size_t slash = gpu_pod.owner.find('/');
  const bool has_kind = slash != std::string::npos;
  if (!gpu_pod.owner.empty()) {
    pod.owners.push_back({.kind = has_kind ? gpu_pod.owner.substr(0, slash) : "Deployment",
                          .name = has_kind ? gpu_pod.owner.substr(slash + 1) : gpu_pod.owner,
                          .group = gpu_pod.group});
  }
  return pod;
}

// GPUs are in the order of the pods. Each pod keeps its own GPUs.
inline NodeSnapshot Node(std::string name, const std::vector<GpuPod>& pods) {
  NodeSnapshot node{.node = std::move(name)};
  node.attribution.state = Attribution::State::kKnown;
  for (const GpuPod& gpu_pod : pods) {
    for (size_t i = 0; i < gpu_pod.loads.size(); ++i) {
      GpuSample gpu = BusyGpu(static_cast<int>(node.gpus.size()), gpu_pod.loads[i],
                              gpu_pod.memory_used_percent);
      gpu.uuid = absl::StrCat(gpu_pod.namespace_name, "/", gpu_pod.name, ":", i);
      gpu.holders = {{.pod = static_cast<int>(node.pods.size()), .container = "main"}};
      node.gpus.push_back(std::move(gpu));
    }
    node.pods.push_back(PodOf(gpu_pod));
  }
  return node;
}

// The node's kubelet does not answer.
inline NodeSnapshot NodeWithoutOwners(NodeSnapshot node, std::string why) {
  node.attribution = {.state = Attribution::State::kUnknown, .why = std::move(why)};
  node.pods.clear();
  for (GpuSample& gpu : node.gpus.Own()) gpu.holders.clear();
  return node;
}

class FleetBuilder {
 public:
  // Forgets readings that ended longer than `horizon` ago.
  FleetBuilder& Remember(absl::Duration horizon) {
    horizon_ = horizon;
    return *this;
  }

  // Adds one reading of each of `nodes`. Other nodes report nothing.
  FleetBuilder& Tick(std::vector<NodeSnapshot> nodes) {
    now_ += kTick;
    for (NodeSnapshot& snapshot : nodes) {
      snapshot.taken_at = now_;
      Watched& watched = nodes_[snapshot.node];
      watched.memory.Annotate(snapshot);
      watched.why_disconnected.clear();
      watched.received_at = now_;
      watched.history.Append(std::move(snapshot), {.horizon = horizon_, .join_within = 3 * kTick});
    }
    return *this;
  }

  FleetBuilder& RepeatFor(absl::Duration duration, const std::vector<NodeSnapshot>& nodes) {
    for (absl::Time end = now_ + duration; now_ < end;) Tick(nodes);
    return *this;
  }

  // Disconnects the node's agent.
  FleetBuilder& Disconnect(const std::string& node, const std::string& why) {
    nodes_[node].why_disconnected = why;
    return *this;
  }

  FleetBuilder& Unreached(const std::string& address) {
    ++unreached_count_;
    if (unreached_.size() < kUnreachedNamed) unreached_.push_back(address);
    return *this;
  }

  absl::Time now() const { return now_; }

  FleetHistory fleet() const {
    FleetHistory fleet{
        .generation = 1, .now = now_, .unreached = unreached_, .unreached_count = unreached_count_};
    for (const auto& [name, watched] : nodes_) {
      fleet.nodes.push_back({.node = name,
                             .history = std::make_shared<const NodeHistory>(watched.history),
                             .received_at = watched.received_at,
                             .why_disconnected = watched.why_disconnected});
      fleet.queries_kubelets |= QueriesKubelet(fleet.nodes.back());
    }
    return fleet;
  }

 private:
  struct Watched {
    MemoryWatch memory;
    NodeHistory history;
    absl::Time received_at;
    std::string why_disconnected;
  };
  absl::Duration horizon_ = absl::InfiniteDuration();
  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  std::map<std::string, Watched> nodes_;
  std::vector<std::string> unreached_;
  size_t unreached_count_ = 0;
};

}  // namespace gpuscaler

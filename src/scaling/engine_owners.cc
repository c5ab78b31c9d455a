#include "scaling/engine_owners.h"

#include <algorithm>

namespace gpuscaler {
namespace {

bool HasBeenReady(const Pod& pod) { return pod.ready.value_or(false) || pod.was_ready; }

}  // namespace

bool IsInPod(const SignalSeries& engine, const Pod& pod) {
  return !engine.pod.empty() && engine.pod == pod.name &&
         engine.namespace_name == pod.namespace_name;
}

EngineOwners::EngineOwners(const Trigger& trigger, const FleetHistory& fleet, bool by_owner,
                           const SignalHistory& signals, const std::vector<Replica>& replicas)
    : endpoint_is_named_(!trigger.engine_endpoint.url.empty()),
      by_owner_(by_owner),
      signals_(signals),
      replicas_(replicas),
      engines_of_(by_owner ? replicas.size() : 0) {
  for (const NodeState& state : fleet.nodes) {
    if (state.history->attributed == nullptr) continue;
    for (const Pod& pod : state.history->attributed->pods) {
      pods_[{pod.namespace_name, pod.name}] = &pod;
    }
  }
  Join();
}

void EngineOwners::Join() {
  for (const SignalSeries& engine : signals_.series) {
    const std::optional<size_t> owner = OwnerOf(engine);
    (owner ? engines_of_[*owner] : unmatched_).push_back(&engine);
  }
  // A single address of a single pod is its own, or leads to it.
  const bool one_each = endpoint_is_named_ && by_owner_ && signals_.series.size() == 1 &&
                        unmatched_.size() == 1 && Present() == 1;
  if (!one_each) return;
  const auto present = std::ranges::find_if(replicas_, &Replica::present);
  engines_of_[static_cast<size_t>(present - replicas_.begin())] = std::move(unmatched_);
  unmatched_.clear();
}

EngineOwners::Engines EngineOwners::All() const {
  Engines all = CountsUnmatched() ? unmatched_ : Engines();
  for (const Engines& engines : engines_of_) all.insert(all.end(), engines.begin(), engines.end());
  return all;
}

EngineOwners::Engines EngineOwners::PresentEngines() const {
  Engines engines = CountsUnmatched() ? unmatched_ : Engines();
  for (size_t i = 0; i < engines_of_.size(); ++i) {
    if (replicas_[i].present)
      engines.insert(engines.end(), engines_of_[i].begin(), engines_of_[i].end());
  }
  return engines;
}

std::optional<size_t> EngineOwners::OwnerOf(const SignalSeries& engine) const {
  if (!by_owner_) return std::nullopt;
  const auto owner = std::ranges::find_if(
      replicas_, [&](const Replica& replica) { return IsOf(engine, replica); });
  if (owner == replicas_.end()) return std::nullopt;
  return static_cast<size_t>(owner - replicas_.begin());
}

bool EngineOwners::IsOf(const SignalSeries& engine, const Replica& replica) const {
  return std::ranges::any_of(replica.pods, [&](const Pod* pod) {
    return IsInPod(engine, *pod) || (!engine.address.empty() && engine.address == AddressOf(*pod));
  });
}

bool EngineOwners::IsOneAddressOfSeveral() const {
  return endpoint_is_named_ && by_owner_ && signals_.series.size() == 1 && !unmatched_.empty() &&
         Present() >= 2;
}

bool EngineOwners::HasAddress(const Replica& replica) const {
  return std::ranges::any_of(replica.pods,
                             [this](const Pod* pod) { return !AddressOf(*pod).empty(); });
}

bool EngineOwners::HasNoEngineOrAddress(size_t replica) const {
  return replicas_[replica].present && engines_of_[replica].empty() &&
         !HasAddress(replicas_[replica]);
}

bool EngineOwners::WasReady(const Replica& replica) const {
  return !replica.pods.empty() && std::ranges::all_of(replica.pods, [this](const Pod* pod) {
    return HasBeenReady(NewestOf(*pod));
  });
}

bool EngineOwners::IsReadyAndNotEnding(const Replica& replica) const {
  return !replica.pods.empty() && std::ranges::all_of(replica.pods, [this](const Pod* pod) {
    const Pod& now = NewestOf(*pod);
    return HasBeenReady(now) && now.is_terminating == false;
  });
}

int64_t EngineOwners::Present() const {
  return std::ranges::count_if(replicas_, &Replica::present);
}

const Pod& EngineOwners::NewestOf(const Pod& pod) const {
  const auto found = pods_.find({pod.namespace_name, pod.name});
  return found == pods_.end() ? pod : *found->second;
}

const std::string& EngineOwners::AddressOf(const Pod& pod) const {
  const std::string& known = NewestOf(pod).address;
  return known.empty() ? pod.address : known;
}

}  // namespace gpuscaler

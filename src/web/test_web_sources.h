// Decisions and nodes for tests of the web API.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fleet/test_readings.h"
#include "model/fleet_history.h"
#include "model/fleet_reader.h"
#include "serve/answers.h"
#include "trigger/test_parsed_trigger.h"
#include "web/workload_rows.h"

namespace gpuscaler {

inline NodeState StateWith(NodeSnapshot snapshot) {
  NodeState state{.node = snapshot.node, .received_at = snapshot.taken_at};
  auto history = std::make_shared<NodeHistory>();
  history->Append(std::move(snapshot),
                  {.horizon = absl::Minutes(15), .join_within = absl::Seconds(6)});
  state.history = std::move(history);
  return state;
}

// A fleet that a test sets. Not thread-safe while it is set.
class TestFleetReader : public FleetReader {
 public:
  void Set(absl::StatusOr<FleetHistory> fleet) {
    if (fleet.ok()) {
      fleet_ = std::make_shared<const FleetHistory>(*std::move(fleet));
    } else {
      fleet_ = fleet.status();
    }
  }
  int reads() const { return reads_; }

  absl::StatusOr<FleetPtr> NodesFor(const PodInterest& /*wanted*/) const override { return fleet_; }
  absl::StatusOr<FleetPtr> AllNodes() const override {
    ++reads_;
    return fleet_;
  }
  absl::Status Check() const override { return fleet_.status(); }
  absl::Time NewestAt() const override { return absl::InfinitePast(); }
  Changes ChangedSince(int64_t /*generation*/) const override { return {}; }
  bool IsOwnerKnown(const PodInterest& /*wanted*/) const override { return false; }
  int64_t WaitForGeneration(int64_t generation, absl::Duration /*timeout*/) const override {
    return generation;
  }

 private:
  absl::StatusOr<FleetPtr> fleet_ = absl::UnavailableError("no agent has reported yet");
  mutable std::atomic<int> reads_ = 0;
};

// The triggers that a test sets. Not thread-safe while they are set.
class TestWorkloads {
 public:
  struct Entry {
    LiveTrigger live;
    absl::Status status;  // the evaluation's
    Decision decision;
  };

  // Adds a trigger of namespace/name that is named "keda_gpu_metric".
  Entry& Add(const std::string& namespace_name, const std::string& name,
             const Metadata& metadata = {}) {
    auto parsed = std::make_shared<ParsedTrigger>();
    parsed->trigger = ParseTrigger(metadata, BuiltInProfiles());
    parsed->spec = SpecOf(metadata, BuiltInProfiles());
    entries_.push_back(std::make_unique<Entry>());
    LiveTrigger& live = entries_.back()->live;
    live.namespace_name = namespace_name;
    live.scaled_object = name;
    live.name = parsed->spec.metric_name;
    live.requested_at = absl::FromUnixSeconds(1'767'225'590);
    live.parsed = std::move(parsed);
    return *entries_.back();
  }
  void Clear() { entries_.clear(); }

  WorkloadSource Source() {
    return {.live_triggers =
                [this] {
                  std::vector<LiveTrigger> all;
                  for (const auto& entry : entries_) all.push_back(entry->live);
                  return all;
                },
            .live_triggers_of =
                [this](const std::string& namespace_name, const std::string& scaled_object) {
                  std::vector<LiveTrigger> found;
                  for (const auto& entry : entries_) {
                    const LiveTrigger& live = entry->live;
                    const bool is_wanted = live.namespace_name == namespace_name &&
                                           live.scaled_object == scaled_object;
                    if (is_wanted) found.push_back(live);
                  }
                  return found;
                },
            .evaluate = [this](const LiveTrigger& live) { return Evaluate(live); },
            .explanation_of =
                [](const LiveTrigger& live, const WorkloadSource::DecisionOr& decision) {
                  return decision.ok() ? ExplainAnswer(**decision, (*decision)->decision.taken_at)
                                       : ExplainAnswer(*live.parsed, decision.status());
                }};
  }

 private:
  WorkloadSource::DecisionOr Evaluate(const LiveTrigger& live) const {
    for (const auto& entry : entries_) {
      if (KeyOf(entry->live) != KeyOf(live)) continue;
      if (!entry->status.ok()) return entry->status;
      auto cached = std::make_shared<CachedDecision>();
      cached->parsed = live.parsed;
      cached->decision = entry->decision;
      return cached;
    }
    return absl::NotFoundError("no such trigger");
  }

  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace gpuscaler

// The changes of workloads and fleet, as events for clients that have an earlier version.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/time/time.h"
#include "web/event_streams.h"
#include "web/workload_rows.h"

namespace gpuscaler {

struct FleetSize {
  int64_t generation = 0;  // FleetHistory::generation
  size_t nodes = 0;
  int gpus = 0;

  bool operator==(const FleetSize&) const = default;
};

// Keeps one row per trigger, however long a client waits. Not thread-safe.
class ChangeLog {
 public:
  // Takes the state at `now`. The version grows if anything but the times of requests differs.
  // `fleet` is empty while the fleet is unknown.
  void Update(absl::Time now, std::span<const WorkloadRow> rows,
              const std::optional<FleetSize>& fleet);

  // Returns the rows that changed after version `since`, the triggers that were removed after it,
  // and the fleet if it changed. Version 0 has nothing. Must be called after Update(). Calls with
  // equal arguments share one text until the next Update().
  EventBatch Since(int64_t since);

 private:
  struct Row {
    WorkloadRow row;
    int64_t version;
  };
  struct Removal {
    int64_t version;
    absl::Time at;
  };

  std::string TextSince(int64_t since) const;

  absl::Time now_;
  int64_t version_ = 0;
  std::map<TriggerKey, Row> rows_;
  std::map<TriggerKey, Removal> removed_;
  std::optional<FleetSize> fleet_;
  int64_t fleet_version_ = 0;
  std::map<int64_t, std::shared_ptr<const std::string>>
      texts_;  // key: `since`; all of this version
};

}  // namespace gpuscaler

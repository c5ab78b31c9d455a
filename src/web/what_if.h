// A replay of recorded points with other options of the HPA: the replicas that would have been.
//
// The load is taken as it was. Two assumptions follow from the target type:
//   AverageValue: the value is a total over all replicas, and does not depend on their number.
//   Value:        the value is a mean over the replicas, so value x recorded replicas is the load,
//                 and its mean over the replayed replicas is what the HPA gets.
// A metric of a queue belongs to no replica, so its points have no number of replicas. The replicas
// that happened are then unknown, and Value cannot be replayed. Each replayed replica counts as one
// GPU if no GPU is known.
//
// Neither assumption holds beyond the load that the recorded replicas could serve: GPUs at 100 %
// hide how much more was requested, and clients that waited would have sent more to more replicas.
// A replica counts at once, without the time that it takes to start.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "trigger/trigger.h"
#include "web/history_point.h"

namespace gpuscaler {

// An empty option is as recorded, or as KEDA and Kubernetes have it by default.
struct WhatIfOptions {
  TargetType target_type = TargetType::kAverageValue;
  std::optional<double> target;  // empty: each point's own
  int min_replicas = 0;
  std::optional<int> max_replicas;  // empty: the most that are recorded; 10 if none are
  absl::Duration scale_down_window = absl::Minutes(5);  // stabilizationWindowSeconds
  std::optional<int> pods_per_minute;                   // limits both directions
  absl::Duration cooldown = absl::Minutes(5);           // cooldownPeriod of the ScaledObject
};

// The replicas over time, and what they amount to. Only points with known replicas count for the
// amounts. Without any such point the amounts are empty.
struct ReplicaCourse {
  std::vector<std::optional<int>> replicas;  // one per point
  std::optional<double> gpu_hours;
  // How long the load was above the recorded target for each replica. Both courses are measured by
  // that target, so that they can be compared.
  std::optional<double> seconds_above_target;
  std::optional<int> direction_changes;  // from scaling out to scaling in, or back
};

struct WhatIf {
  ReplicaCourse happened;  // its GPU-hours include starting and terminating replicas
  ReplicaCourse would;
  double gpus_per_replica = 1;        // the mean over the points with GPUs; 1 if none has any
  bool has_unknown_replicas = false;  // a point has a value, but no number of replicas
};

// Returns the assumptions of a replay in words: how the load follows from the record, and the
// defaults for settings without a record, such as minReplicaCount.
std::string WhatIfNote(TargetType type, bool has_unknown_replicas = false);

// Replays `points`, those of TriggerSeries, one sync of the HPA and one poll of KEDA for each.
// Begins with the first recorded number of replicas within the limits, or with the minimum if that
// number is unknown. KEDA scales between 0 and 1 by `active` and the cooldown, and the HPA between
// 1 and the maximum. At a point without a value the replicas stay as they were.
WhatIf Replay(std::span<const HistoryPoint> points, const WhatIfOptions& options);

}  // namespace gpuscaler

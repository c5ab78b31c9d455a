// A replay of recorded points with other options of the HPA: the replicas that would have been.
//
// The load is taken as it was. Two assumptions follow from the target type:
//   AverageValue: the value is a total over all replicas, and does not depend on their number.
//   Value:        the value is a mean over the replicas, so value x recorded replicas is the load,
//                 and its mean over the replayed replicas is what the HPA gets.
// Neither holds beyond the load that the recorded replicas could serve: GPUs at 100 % hide how much
// more was asked for, and clients that waited would have sent more to more replicas. A replica
// counts at once, without the time that it takes to start.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "history/history_point.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// An empty option is as recorded, or KEDA's default.
struct WhatIfOptions {
  TargetType target_type = TargetType::kAverageValue;
  std::optional<double> target;  // empty: each point's own
  int min_replicas = 0;
  std::optional<int> max_replicas;  // empty: the most that are recorded, at least 1
  absl::Duration scale_down_window = absl::Minutes(5);
  std::optional<int> pods_per_minute;  // limit on both directions; empty: the HPA's defaults
  absl::Duration cooldown = absl::Minutes(5);  // cooldownPeriod of the ScaledObject
};

// Replicas over time and what they mean. Points without a record add neither GPU-hours nor seconds.
struct ReplicaCourse {
  std::vector<std::optional<double>> replicas;  // one per point
  double gpu_hours = 0;
  double seconds_above_target = 0;  // the load exceeded target x replicas
  int direction_changes = 0;        // from scaling out to scaling in, or back
};

struct WhatIf {
  ReplicaCourse happened;
  ReplicaCourse would;
  double gpus_per_replica = 1;  // the mean of the points with replicas; 1 if none has GPUs
};

// States the assumptions in one sentence for users.
absl::string_view WhatIfNote(TargetType type);

// Replays `points`, those of TriggerSeries. Starts with the first recorded number of replicas,
// within the limits. KEDA scales between 0 and 1 by `active` and the cooldown, and the HPA between
// 1 and the maximum, every kHistoryStep. Replicas stay as they were at a point without a value.
WhatIf Replay(std::span<const HistoryPoint> points, const WhatIfOptions& options);

}  // namespace gpuscaler

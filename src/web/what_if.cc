#include "web/what_if.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "scaling/hpa.h"

namespace gpuscaler {
namespace {

constexpr int kDefaultMaxReplicas = 10;

bool IsKnown(const HistoryPoint& point) {
  return point.value.has_value() && point.replicas.has_value();
}

// A mean is no load without the number of replicas that it is the mean of.
bool HasLoad(const HistoryPoint& point, TargetType type) {
  return type == TargetType::kAverageValue ? point.value.has_value() : IsKnown(point);
}

int ReplicasOf(const HistoryPoint& point) { return static_cast<int>(*point.replicas); }

int MaxReplicasOf(std::span<const HistoryPoint> points, const WhatIfOptions& options) {
  int most = 0;
  for (const HistoryPoint& point : points) {
    if (IsKnown(point)) most = std::max(most, ReplicasOf(point));
  }
  const int least = std::max(1, options.min_replicas);
  return std::max(least, options.max_replicas.value_or(most > 0 ? most : kDefaultMaxReplicas));
}

double GpusPerReplica(std::span<const HistoryPoint> points) {
  double gpus = 0;
  double replicas = 0;
  for (const HistoryPoint& point : points) {
    if (!IsKnown(point) || point.gpus.value_or(0) <= 0) continue;
    gpus += *point.gpus;
    replicas += *point.replicas + point.starting.value_or(0) + point.terminating.value_or(0);
  }
  return replicas > 0 ? gpus / replicas : 1;
}

HpaOptions HpaOptionsOf(const WhatIfOptions& options, int max_replicas) {
  HpaOptions hpa{.min_replicas = std::max(1, options.min_replicas),
                 .max_replicas = max_replicas,
                 .target_type = options.target_type};
  hpa.scale_down.stabilization_window = options.scale_down_window;
  if (options.pods_per_minute.has_value()) {
    const HpaPolicy policy = {HpaPolicy::Type::kPods, *options.pods_per_minute, absl::Minutes(1)};
    hpa.scale_up.policies = {policy};
    hpa.scale_down.policies = {policy};
  }
  return hpa;
}

// Returns the value that `replicas` would have had.
double ValueWith(const HistoryPoint& point, TargetType type, int replicas) {
  if (type == TargetType::kAverageValue) return *point.value;
  return *point.value * *point.replicas / std::max(replicas, 1);
}

// KEDA's part (KEDA 2.21: pkg/scaling/executor), for one trigger that is polled at each point.
class Activation {
 public:
  Activation(const WhatIfOptions& options, absl::Time begins_at)
      : options_(options), last_active_(begins_at) {}

  int Poll(const HistoryPoint& point, int replicas) {
    if (point.active.value_or(1) > 0) {
      last_active_ = point.at;
      return replicas > 0 ? replicas : std::max(1, options_.min_replicas);
    }
    if (options_.min_replicas > 0) return std::max(replicas, options_.min_replicas);
    return last_active_ + options_.cooldown < point.at ? 0 : replicas;
  }

 private:
  const WhatIfOptions& options_;
  absl::Time last_active_;
};

bool IsAboveTarget(const HistoryPoint& point, TargetType type, int replicas) {
  if (!point.target.has_value()) return false;
  const double value = ValueWith(point, type, replicas);
  return value > (type == TargetType::kAverageValue ? *point.target * replicas : *point.target);
}

// Returns nothing if no number of replicas is known.
std::optional<int> DirectionChanges(const std::vector<std::optional<int>>& replicas) {
  int changes = 0;
  bool was_out = false;
  std::optional<int> before;
  bool has_moved = false;
  for (const std::optional<int>& now : replicas) {
    if (!now.has_value()) continue;
    if (before.has_value() && *now != *before) {
      const bool is_out = *now > *before;
      if (has_moved && is_out != was_out) ++changes;
      was_out = is_out;
      has_moved = true;
    }
    before = now;
  }
  return before.has_value() ? std::optional<int>(changes) : std::nullopt;
}

// Adds a point to a course with `gpus` at that time.
void AddPoint(const HistoryPoint& point, TargetType type, int replicas, double gpus,
              ReplicaCourse& course) {
  course.replicas.emplace_back(replicas);
  const bool is_above = IsAboveTarget(point, type, replicas);
  course.gpu_hours = course.gpu_hours.value_or(0) + gpus * absl::ToDoubleHours(kHistoryStep);
  course.seconds_above_target = course.seconds_above_target.value_or(0) +
                                (is_above ? absl::ToDoubleSeconds(kHistoryStep) : 0);
}

}  // namespace

std::string WhatIfNote(TargetType type, bool has_unknown_replicas) {
  const absl::string_view load =
      type == TargetType::kAverageValue
          ? "the recorded total, whatever the number of replicas"
          : "the recorded mean times the recorded replicas, divided among the replayed ones";
  const absl::string_view unknown =
      !has_unknown_replicas ? ""
      : type == TargetType::kAverageValue
          ? " The metric belongs to no replica, so the replicas that happened are unknown. The "
            "replay begins with the minimum, and counts one GPU for each replica."
          : " The metric belongs to no replica, so the replicas that happened are unknown, and a "
            "mean of them cannot be replayed.";
  return absl::StrCat(
      "The load is taken as it was: ", load,
      ". Load that the replicas could not serve is not in it, and replicas count as soon as they "
      "are requested. The GPU-hours that happened include starting and terminating replicas, and "
      "those of the replay do not. The minimum is 0 unless it is given, so a workload with a "
      "higher minReplicaCount would not have gone to zero. The cooldown is 5 minutes. Other "
      "triggers of the ScaledObject are not in it.",
      unknown);
}

WhatIf Replay(std::span<const HistoryPoint> points, const WhatIfOptions& options) {
  const TargetType type = options.target_type;
  const int max_replicas = MaxReplicasOf(points, options);
  HpaOptions hpa_options = HpaOptionsOf(options, max_replicas);
  WhatIf result{.gpus_per_replica = GpusPerReplica(points)};
  Hpa hpa(hpa_options);
  std::optional<Activation> activation;  // empty: nothing is known yet
  int replicas = 0;
  for (const HistoryPoint& point : points) {
    if (IsKnown(point)) {
      AddPoint(point, type, ReplicasOf(point),
               point.gpus.value_or(ReplicasOf(point) * result.gpus_per_replica), result.happened);
    } else {
      result.happened.replicas.emplace_back();
      result.has_unknown_replicas |= point.value.has_value();
    }
    if (!HasLoad(point, type)) {
      result.would.replicas.emplace_back();
      continue;
    }
    if (!activation.has_value()) {
      activation.emplace(options, point.at);
      const int first = IsKnown(point) ? ReplicasOf(point) : options.min_replicas;
      replicas = std::clamp(first, options.min_replicas, max_replicas);
    }
    hpa_options.target = options.target.value_or(point.target.value_or(hpa_options.target));
    const int proposal =
        ProposeReplicas(hpa_options, replicas, replicas, ValueWith(point, type, replicas));
    replicas = activation->Poll(point, hpa.Apply(point.at, replicas, proposal));
    AddPoint(point, type, replicas, replicas * result.gpus_per_replica, result.would);
  }
  for (ReplicaCourse* const course : {&result.happened, &result.would}) {
    course->direction_changes = DirectionChanges(course->replicas);
  }
  return result;
}

}  // namespace gpuscaler

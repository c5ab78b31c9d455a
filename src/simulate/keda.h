// KEDA's loop around one ScaledObject, and the HPA it owns (KEDA 2.21: pkg/scaling, pkg/fallback),
// driven by the caller's time.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "simulate/hpa.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// What KEDA asks a scaler about one trigger.
class Scaler {
 public:
  virtual ~Scaler() = default;
  virtual absl::StatusOr<double> GetMetrics() = 0;
  virtual absl::StatusOr<bool> IsActive() = 0;
};

struct KedaTrigger {
  Scaler* scaler;     // outlives the loop
  double target = 1;  // GetMetricSpec's
  TargetType target_type = TargetType::kAverageValue;
};

struct Fallback {
  enum class Behavior {
    kStatic,
    kCurrentReplicas,
    kCurrentReplicasIfHigher,
    kCurrentReplicasIfLower
  };
  int failure_threshold = 3;  // more failures in a row than this
  int replicas = 1;
  Behavior behavior = Behavior::kStatic;
};

// spec of a ScaledObject, with KEDA's defaults.
struct ScaledObjectSpec {
  absl::Duration polling_interval = absl::Seconds(30);
  absl::Duration cooldown_period = absl::Seconds(300);
  int min_replica_count = 0;
  int max_replica_count = 100;
  std::optional<Fallback> fallback;
  // The HPA; replicas, target and target type are filled in here. KEDA gives it no behavior unless
  // horizontalPodAutoscalerConfig has one.
  HpaOptions hpa = {.no_behavior = true};
  absl::Duration hpa_sync_period = absl::Seconds(15);  // the controller manager's
};

// One ScaledObject. Not thread-safe.
class Keda {
 public:
  Keda(const ScaledObjectSpec& spec, const std::vector<KedaTrigger>& triggers);

  // Polls and syncs, if either is due at `now` (the first time: both): what spec.replicas becomes.
  int Step(absl::Time now, int replicas, int ready, int status_replicas = -1);

  // One round of the poll loop: 0 <-> 1 only.
  int Poll(absl::Time now, int replicas, int ready);

  // One sync of the HPA: 1 <-> N only.
  int Sync(absl::Time now, int replicas, int ready, int status_replicas = -1);

  // What a trigger last answered, for reports.
  struct Answer {
    absl::StatusOr<double> value = absl::UnavailableError("not asked yet");
    bool active = false;
  };
  const Answer& answer(size_t trigger) const { return watched_[trigger].last; }

 private:
  struct Watched {
    KedaTrigger trigger;
    Answer last;
    int failures = 0;
  };
  Answer Ask(Watched& watched, int replicas, int ready) const;
  std::optional<double> FallbackValue(const Watched& watched, int replicas, int ready) const;
  int CoolDown(absl::Time now, int replicas) const;

  const ScaledObjectSpec spec_;
  std::vector<Watched> watched_;
  Hpa hpa_;
  std::optional<absl::Time> last_active_;
  absl::Time next_poll_ = absl::InfinitePast();
  absl::Time next_sync_ = absl::InfinitePast();
};

}  // namespace gpuscaler

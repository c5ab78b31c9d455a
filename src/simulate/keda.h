// KEDA's loop for one ScaledObject, and the HPA it owns (KEDA 2.21: pkg/scaling, pkg/fallback). The
// caller provides the time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "scaling/hpa.h"
#include "trigger/trigger.h"

namespace gpuscaler {

class SimulatedWorkload;

// The calls that KEDA makes for one trigger. Not thread-safe.
class Scaler {
 public:
  virtual ~Scaler() = default;
  virtual absl::StatusOr<double> GetMetrics() = 0;
  virtual absl::StatusOr<bool> IsActive() = 0;

  // Samples a workload in simulated time. KedaPolicy calls it once a second.
  virtual void Observe(const SimulatedWorkload&) {}
};

struct KedaTrigger {
  std::shared_ptr<Scaler> scaler;
  double target = 1;  // from GetMetricSpec
  TargetType target_type = TargetType::kAverageValue;
};

struct Fallback {
  enum class Behavior {
    kStatic,
    kCurrentReplicas,
    kCurrentReplicasIfHigher,
    kCurrentReplicasIfLower
  };
  int failure_threshold = 3;  // the fallback applies after more consecutive failures
  int replicas = 1;
  Behavior behavior = Behavior::kStatic;
};

// The spec of a ScaledObject, with KEDA's defaults.
struct ScaledObjectSpec {
  absl::Duration polling_interval = absl::Seconds(30);
  absl::Duration cooldown_period = absl::Seconds(300);
  int min_replica_count = 0;
  int max_replica_count = 100;
  std::optional<Fallback> fallback;
  // The HPA, without replicas, target and target type, which KEDA sets. KEDA gives it no behavior
  // unless horizontalPodAutoscalerConfig has one.
  HpaOptions hpa = {.no_behavior = true};
  absl::Duration hpa_sync_period = absl::Seconds(15);  // the controller manager's
};

// One ScaledObject. Not thread-safe.
class Keda {
 public:
  Keda(const ScaledObjectSpec& spec, const std::vector<KedaTrigger>& triggers);

  // Polls and syncs if due at `now`; both are due at first. Returns the new spec.replicas.
  int Step(absl::Time now, int replicas, int ready, int status_replicas = -1);

  // Runs one poll: scales between 0 and 1 only.
  int Poll(absl::Time now, int replicas, int ready);

  // Runs one sync of the HPA: scales between 1 and N only.
  int Sync(absl::Time now, int replicas, int ready, int status_replicas = -1);

  // The last answer for a trigger, for reports.
  struct Answer {
    absl::StatusOr<double> value = absl::UnavailableError("not requested yet");
    bool active = false;
  };
  const Answer& answer(size_t trigger) const { return triggers_[trigger].last; }

 private:
  struct TriggerState {
    KedaTrigger trigger;
    Answer last;
    int failures = 0;
  };
  Answer GetAnswer(TriggerState& state, int replicas, int ready) const;
  std::optional<double> FallbackValue(const TriggerState& state, int replicas, int ready) const;
  int CoolDown(absl::Time now, int replicas) const;

  const ScaledObjectSpec spec_;
  std::vector<TriggerState> triggers_;
  Hpa hpa_;
  std::optional<absl::Time> last_active_;
  absl::Time next_poll_ = absl::InfinitePast();
  absl::Time next_sync_ = absl::InfinitePast();
};

}  // namespace gpuscaler

// The interface that sets the replicas of a simulated workload.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "simulate/keda.h"
#include "simulate/simulated_workload.h"

namespace gpuscaler {

// Not thread-safe.
class ReplicaPolicy {
 public:
  virtual ~ReplicaPolicy() = default;

  // Called once a second, `passed` after the start, when the workload has run until its now().
  // `replicas` is the present spec.replicas. Returns the new one.
  virtual int Step(absl::Duration passed, const SimulatedWorkload& workload, int replicas) = 0;

  // Returns the newest value for timelines, or nullopt if the policy has none.
  virtual std::optional<double> value() const { return std::nullopt; }
};

// A number of replicas fixed in advance for each time.
class ScheduledPolicy : public ReplicaPolicy {
 public:
  using Schedule = std::function<int(absl::Duration passed)>;
  explicit ScheduledPolicy(Schedule schedule) : schedule_(std::move(schedule)) {}
  explicit ScheduledPolicy(int replicas)  // all the time
      : schedule_([replicas](absl::Duration) { return replicas; }) {}
  int Step(absl::Duration passed, const SimulatedWorkload&, int) override {
    return schedule_(passed);
  }

 private:
  const Schedule schedule_;
};

// One ScaledObject with KEDA, its HPA and its scalers.
class KedaPolicy : public ReplicaPolicy {
 public:
  KedaPolicy(const ScaledObjectSpec& spec, std::vector<KedaTrigger> triggers)
      : triggers_(std::move(triggers)), keda_(spec, triggers_) {}

  int Step(absl::Duration, const SimulatedWorkload& workload, int replicas) override {
    for (const KedaTrigger& trigger : triggers_) trigger.scaler->Observe(workload);
    return keda_.Step(workload.now(), replicas, workload.ready());
  }
  // Returns the value of the first trigger.
  std::optional<double> value() const override {
    const auto& answer = keda_.answer(0).value;
    return answer.ok() ? std::make_optional(*answer) : std::nullopt;
  }

 private:
  const std::vector<KedaTrigger> triggers_;
  Keda keda_;
};

}  // namespace gpuscaler

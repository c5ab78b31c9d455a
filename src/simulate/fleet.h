// A service under a ScaledObject, moved through a load; and what it came to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "simulate/inference_service.h"
#include "simulate/keda.h"
#include "simulate/load_shape.h"

namespace gpuscaler {

struct Scenario {
  LoadShape load;
  InferenceServiceOptions service;
  ScaledObjectSpec scaled_object;
};

struct ScenarioResult {
  std::string name;
  InferenceService::Totals totals;
  int replicas = 0;  // at the end
  int waiting = 0;   // at the end
};

// Not thread-safe.
class Fleet {
 public:
  // Begins with `replicas`, which are starting. `triggers_of` makes what KEDA asks about the
  // service; none: nobody scales it.
  using TriggersOf = std::function<std::vector<KedaTrigger>(const InferenceService&)>;
  Fleet(const Scenario& scenario, absl::Time start, int replicas, const TriggersOf& triggers_of);

  // Time passes and requests come; then KEDA does what has come due.
  void Advance(absl::Time now);
  void Scale();

  absl::Duration passed() const { return service_.now() - start_; }
  int desired() const { return desired_; }  // spec.replicas
  const InferenceService& service() const { return service_; }
  const Keda& keda() const { return keda_; }

  // The load is over, everything is served and nothing runs.
  bool AtRest() const;

  ScenarioResult ResultAs(std::string name) const;

 private:
  const Scenario scenario_;
  const absl::Time start_;
  InferenceService service_;
  Keda keda_;
  int desired_;
  const bool scaled_;
};

// What the same load comes to, over `duration`, with as many replicas all the time...
ScenarioResult RunStatic(const Scenario& scenario, int replicas, absl::Duration duration);
// ... and with the reference's formula in place of ours, woken by the same demand signal.
ScenarioResult RunReference(const Scenario& scenario, absl::Duration duration);

}  // namespace gpuscaler

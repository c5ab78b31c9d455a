// The rules of lint: one row each, on one trigger or on a whole object.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lint/lint.h"
#include "lint/manifest.h"
#include "lint/surroundings.h"
#include "trigger/trigger_reading.h"

namespace gpuscaler {

struct Complaint {
  std::string message;
  int line = 1;
};

// The endpoint of a trigger's engines, page or gateway, as far as the files show it.
struct NamedEndpoint {
  std::string url;
  ServiceName name;                             // empty: not a Service's name
  const ManifestService* service = nullptr;     // null: in no file
  std::vector<const ManifestWorkload*> behind;  // workloads that the Service selects
  bool is_of_target = false;                    // the scale target is one of them
};
// Returns nullopt if the trigger has no endpoint.
std::optional<NamedEndpoint> EndpointNamedBy(const Trigger& trigger, const Manifest& manifest,
                                             const Surroundings& surroundings);

// A trigger that uses this scaler.
struct OurTrigger {
  const ManifestTrigger* written;
  Reading reading;
  // Empty if the metadata is wrong, or if a value comes from FromEnv or a placeholder.
  std::optional<Trigger> settings;
  std::optional<NamedEndpoint> endpoint;
  bool finds_engines = false;                // copy of LintContext's
  const ManifestWorkload* target = nullptr;  // null: in no file
};

struct TriggerRule {
  LintRule rule;
  std::optional<Complaint> (*check)(const OurTrigger& trigger);
};
std::span<const TriggerRule> AddressRules();   // on the scaler's address; checked on every trigger
std::span<const TriggerRule> TriggerRules();   // on triggers with settings; includes the next two
std::span<const TriggerRule> DemandRules();    // on engines, pages and queues
std::span<const TriggerRule> EndpointRules();  // on the endpoints of those

struct ObjectRule {
  LintRule rule;
  std::optional<Complaint> (*check)(const Manifest& manifest, const std::vector<OurTrigger>& ours);
};
// Includes the next three.
std::span<const ObjectRule> ObjectRules();
std::span<const ObjectRule> WorkloadRules();     // on the workload that owns the counted GPUs
std::span<const ObjectRule> CapacityRules();     // on the load that a target allows per replica
std::span<const ObjectRule> FormulaRules();      // on KEDA's scalingModifiers
std::span<const ObjectRule> SurroundingRules();  // on other objects in the files

// Returns true if `engine` never exports finished answers, so that its demand is never available.
bool ReportsNoAnswers(absl::string_view engine);

// Returns true if the trigger counts the requests in an engine's batch.
bool CountsRequests(const Trigger& trigger);

bool GoesToZero(const Manifest& manifest);

// Returns true if the trigger counts the GPUs of a named workload other than the scale target.
bool CountsAnother(const Manifest& manifest, const OurTrigger& our);

// Returns true if `trigger`, one of the manifest's, may be active at zero replicas.
bool CanWake(const Manifest& manifest, const ManifestTrigger& trigger,
             const std::vector<OurTrigger>& ours);

}  // namespace gpuscaler

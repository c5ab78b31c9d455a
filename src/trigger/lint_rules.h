// The rules of lint: one row each, on one trigger or on a whole object.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trigger/lint.h"
#include "trigger/manifest.h"
#include "trigger/metadata_parser.h"
#include "trigger/related_objects.h"

namespace gpuscaler {

// The message and line of a rule that applies. Lint() adds rule, severity and object (Finding).
struct RuleViolation {
  std::string message;
  int line = 1;
};

// The address of a trigger's engines, metrics endpoint or gateway, with the objects of the files
// behind it.
struct NamedEndpoint {
  std::string url;
  ServiceName name;                               // empty: not a Service's name
  const ManifestService* service = nullptr;       // null: in no file
  std::vector<const ManifestWorkload*> selected;  // workloads that the Service selects
  bool selects_target = false;                    // the scale target is one of them
};
// Returns nullopt if the trigger has no endpoint.
std::optional<NamedEndpoint> EndpointNamedBy(const Trigger& trigger, const Manifest& manifest,
                                             const RelatedObjects& related_objects);

// A trigger that uses this scaler.
struct ScalerTrigger {
  const ManifestTrigger* declaration;  // in the manifest
  ParsedMetadata metadata;
  // Empty if the metadata is wrong, or if a value comes from FromEnv or a placeholder.
  std::optional<Trigger> parsed;
  std::optional<NamedEndpoint> endpoint;
  bool finds_engines = false;                // agents discover engines without an endpoint
  const ManifestWorkload* target = nullptr;  // null: in no file
};

struct TriggerRule {
  LintRule rule;
  std::optional<RuleViolation> (*check)(const ScalerTrigger& trigger);
};
std::span<const TriggerRule> AddressRules();   // on the scaler's address; checked on every trigger
std::span<const TriggerRule> TriggerRules();   // on triggers that are parsed; includes the next two
std::span<const TriggerRule> SourceRules();    // on engines, metrics endpoints and queues
std::span<const TriggerRule> EndpointRules();  // on the endpoints of those

struct ObjectRule {
  LintRule rule;
  std::optional<RuleViolation> (*check)(const Manifest& manifest,
                                        const std::vector<ScalerTrigger>& scaler_triggers);
};
// Includes the next three.
std::span<const ObjectRule> ObjectRules();
std::span<const ObjectRule> WorkloadRules();       // on the workload that owns the counted GPUs
std::span<const ObjectRule> CapacityRules();       // on the load that a target allows per replica
std::span<const ObjectRule> FormulaRules();        // on KEDA's scalingModifiers
std::span<const ObjectRule> RelatedObjectRules();  // on other objects in the files

// Returns true if `engine` exports no count of finished requests, without which demand is unknown.
bool NeverReportsDemand(absl::string_view engine);

// Returns true if the trigger counts requests: running, or running and waiting.
bool CountsRequests(const Trigger& trigger);

bool GoesToZero(const Manifest& manifest);

// Returns true if the trigger counts the GPUs of a named workload other than the scale target.
bool CountsAnother(const Manifest& manifest, const ScalerTrigger& scaler_trigger);

// Returns true if `trigger`, one of the manifest's, may be active at zero replicas.
bool CanWake(const Manifest& manifest, const ManifestTrigger& trigger,
             const std::vector<ScalerTrigger>& scaler_triggers);

}  // namespace gpuscaler

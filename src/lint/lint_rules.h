// The rules of lint, one row each, over one trigger or over a whole object.
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

// Where a trigger's engines or page are, as far as the files tell.
struct NamedEndpoint {
  std::string url;
  ServiceName name;                             // empty: it cannot be a Service's
  const ManifestService* service = nullptr;     // null: no file has it
  std::vector<const ManifestWorkload*> behind;  // the Service
  bool is_of_target = false;                    // what is scaled is among them
};
// Empty: it names neither.
std::optional<NamedEndpoint> EndpointNamedBy(const Trigger& trigger, const Manifest& manifest,
                                             const Surroundings& surroundings);

// A trigger that goes to this scaler.
struct OurTrigger {
  const ManifestTrigger* written;
  Reading reading;
  // What it means; empty when it is wrong, or when a FromEnv key says what no file can show.
  std::optional<Trigger> settings;
  std::optional<NamedEndpoint> endpoint;
  bool finds_engines = false;                // LintContext's
  const ManifestWorkload* target = nullptr;  // null: no file has what is scaled
};

struct TriggerRule {
  LintRule rule;
  std::optional<Complaint> (*check)(const OurTrigger& trigger);
};
std::span<const TriggerRule> AddressRules();  // on where the scaler is: of every trigger
std::span<const TriggerRule> TriggerRules();  // of those with settings
std::span<const TriggerRule> DemandRules();   // those of them that are on engines, pages and queues
std::span<const TriggerRule> EndpointRules();  // and those on where those are

struct ObjectRule {
  LintRule rule;
  std::optional<Complaint> (*check)(const Manifest& manifest, const std::vector<OurTrigger>& ours);
};
std::span<const ObjectRule> ObjectRules();
std::span<const ObjectRule> WorkloadRules();     // those of them that are on whose GPUs count
std::span<const ObjectRule> CapacityRules();     // and on the load that a target asks of an engine
std::span<const ObjectRule> FormulaRules();      // and on KEDA's scalingModifiers
std::span<const ObjectRule> SurroundingRules();  // on what else the files have, or have not

// Whether no exposition of `engine` has finished answers, so that its demand is never known.
bool ReportsNoAnswers(absl::string_view engine);

// Whether the trigger counts the requests in an engine's batch.
bool CountsRequests(const Trigger& trigger);

bool GoesToZero(const Manifest& manifest);

// It counts the GPUs of a workload that it names, and that is not the one that is scaled.
bool CountsAnother(const Manifest& manifest, const OurTrigger& our);

// Whether `trigger`, one of the manifest's, may see demand while there is no replica.
bool CanWake(const Manifest& manifest, const ManifestTrigger& trigger,
             const std::vector<OurTrigger>& ours);

}  // namespace gpuscaler

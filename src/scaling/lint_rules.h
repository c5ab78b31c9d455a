// The rules of lint, one row each, over one trigger or over a whole object.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scaling/lint.h"
#include "scaling/manifest.h"
#include "scaling/trigger_reading.h"

namespace gpuscaler {

struct Complaint {
  std::string message;
  int line = 1;
};

// A trigger that goes to this scaler.
struct OurTrigger {
  const ManifestTrigger* written;
  Reading reading;
  // What it means; empty when it is wrong, or when a FromEnv key says what no file can show.
  std::optional<Trigger> settings;
};

struct TriggerRule {
  LintRule rule;
  std::optional<Complaint> (*check)(const OurTrigger& trigger);  // only those with settings
};
std::span<const TriggerRule> TriggerRules();
std::span<const TriggerRule> DemandRules();  // those of them that are on engines, pages and queues

struct ObjectRule {
  LintRule rule;
  std::optional<Complaint> (*check)(const Manifest& manifest, const std::vector<OurTrigger>& ours);
};
std::span<const ObjectRule> ObjectRules();

}  // namespace gpuscaler

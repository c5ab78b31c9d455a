// Parses a trigger's metadata and collects every fault. A Trigger is made from the result.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

struct Fault {
  std::string key;      // as the metadata spells it
  std::string message;  // `aggregation="p90": use max or p95`; never the value of a FromEnv key
};

struct ParsedMetadata {
  Settings settings;
  std::vector<Fault> faults;

  // Returns true for a fault in `key` or in its FromEnv form.
  bool HasFaultIn(absl::string_view key) const;
};

ParsedMetadata ParseMetadata(const Metadata& metadata, const Profiles& profiles);

// A setting that is missing or has a fault is the profile's, else the default.
Trigger TriggerOf(const Settings& settings);

// Returns INVALID_ARGUMENT with all faults, or OK if there is none. If the text of all faults
// exceeds what a status can carry, it has the first ones and the number of the others.
absl::Status StatusOf(const std::vector<Fault>& faults);

}  // namespace gpuscaler

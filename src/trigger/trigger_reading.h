// Reads metadata key by key and finds every fault: the step before a Trigger.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

struct Fault {
  std::string key;      // as the metadata spells it
  std::string message;  // `aggregation="p90": use max or p95`; never the value of a FromEnv key
};

struct Reading {
  Settings settings;
  const Profile* profile = nullptr;  // the one that is named, if it exists
  std::vector<Fault> faults;

  // Returns true for a fault in `key` or in its FromEnv form.
  bool HasFaultIn(absl::string_view key) const;
};

// `profiles` must outlive the reading.
Reading ReadMetadata(const Metadata& metadata, const Profiles& profiles);

// Returns the trigger of the settings. A missing one is the profile's, then the default. A key with
// a fault counts as missing.
Trigger TriggerOf(const Reading& reading);

// Returns INVALID_ARGUMENT with every fault, or OK if there is none.
absl::Status StatusOf(const std::vector<Fault>& faults);

}  // namespace gpuscaler

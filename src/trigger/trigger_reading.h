// Metadata read key by key, with every fault found: the step before a Trigger.
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
  const Profile* profile = nullptr;  // the one named, where it exists
  std::vector<Fault> faults;

  // In `key` or its FromEnv form.
  bool HasFaultIn(absl::string_view key) const;
};

// `profiles` outlives the reading.
Reading ReadMetadata(const Metadata& metadata, const Profiles& profiles);

// The trigger that the settings ask for; what they leave open comes from the profile, then from the
// defaults. Only for a reading without faults.
Trigger TriggerOf(const Reading& reading);

// INVALID_ARGUMENT with every fault, or OK when there is none.
absl::Status StatusOf(const std::vector<Fault>& faults);

}  // namespace gpuscaler

// Files of profiles: ConfigMaps, written by anyone with the right to change them.
#include <cstdint>

#include "absl/strings/match.h"
#include "fuzz_assert.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

void CheckProfile(const Trigger& profile) {
  FUZZ_ASSERT(IsPathSafe(profile.profile));
  FUZZ_ASSERT(MetricNameOf(profile.profile).size() > profile.profile.size());
  FUZZ_ASSERT(profile.target > 0 && profile.target <= 1e12 && profile.activation_threshold >= 0);
  FUZZ_ASSERT(profile.window >= absl::ZeroDuration() && profile.window <= kLongestWindow);
  FUZZ_ASSERT(profile.activation_window >= absl::ZeroDuration());
  FUZZ_ASSERT(profile.activation_window <= kLongestWindow &&
              profile.warmup >= absl::ZeroDuration());
}

void CheckFile(absl::string_view yaml) {
  const auto profiles = ParseProfiles(yaml);
  if (!profiles.ok()) {
    FUZZ_ASSERT(absl::IsInvalidArgument(profiles.status()));
    FUZZ_ASSERT(absl::StartsWith(profiles.status().message(), "line "));
    return;
  }
  for (const auto& [name, profile] : BuiltInProfiles()) FUZZ_ASSERT(profiles->contains(name));
  for (const auto& [name, profile] : *profiles) {
    FUZZ_ASSERT(name == profile.trigger.profile);
    CheckProfile(profile.trigger);
    // A trigger with only this profile must be valid.
    const auto trigger = ParseTrigger({{"profile", name}}, *profiles);
    FUZZ_ASSERT(trigger.ok() || !BuiltInProfiles().contains(name));
    FUZZ_ASSERT(!trigger.ok() || trigger->target == profile.trigger.target);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckFile({reinterpret_cast<const char*>(data), size});
  return 0;
}

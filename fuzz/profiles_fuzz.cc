// Files of profiles: ConfigMaps, written by anyone with the right to change them.
#include <cstdint>

#include "absl/strings/match.h"
#include "promise.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

void CheckProfile(const Profile& profile) {
  PROMISE(IsPathSafe(profile.name) && MetricNameOf(profile).size() > profile.name.size());
  PROMISE(profile.target > 0 && profile.target <= 1e12 && profile.activation_threshold >= 0);
  PROMISE(profile.window >= absl::ZeroDuration() && profile.window <= kLongestWindow);
  PROMISE(profile.activation_window >= absl::ZeroDuration());
  PROMISE(profile.activation_window <= kLongestWindow && profile.warmup >= absl::ZeroDuration());
}

void CheckFile(absl::string_view yaml) {
  const auto profiles = ParseProfiles(yaml);
  if (!profiles.ok()) {
    PROMISE(absl::IsInvalidArgument(profiles.status()));
    PROMISE(absl::StartsWith(profiles.status().message(), "line "));
    return;
  }
  for (const auto& [name, profile] : BuiltInProfiles()) PROMISE(profiles->contains(name));
  for (const auto& [name, profile] : *profiles) {
    PROMISE(name == profile.name);
    CheckProfile(profile);
    // A trigger with only this profile must be valid.
    const auto trigger = ParseTrigger({{"profile", name}}, *profiles);
    PROMISE(trigger.ok() || !BuiltInProfiles().contains(name));
    PROMISE(!trigger.ok() || trigger->target == profile.target);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckFile({reinterpret_cast<const char*>(data), size});
  return 0;
}

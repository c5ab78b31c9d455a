#include "trigger/trigger.h"

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "trigger/trigger_reading.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 4> kTargetKeys = {
    "targetValue", "targetGpuUtilization", "targetMemoryUtilization", "jobsPerReplica"};

}  // namespace

std::span<const absl::string_view> TargetKeys() { return kTargetKeys; }

absl::StatusOr<Trigger> ParseTrigger(const Metadata& metadata, const Profiles& profiles) {
  const Reading reading = ReadMetadata(metadata, profiles);
  RETURN_IF_ERROR(StatusOf(reading.faults));
  return TriggerOf(reading);
}

MetricSpec SpecOf(const Metadata& metadata, const Profiles& profiles) {
  const Reading reading = ReadMetadata(metadata, profiles);
  const Trigger trigger = TriggerOf(reading);
  MetricSpec spec{.metric_name = trigger.metric_name, .target = trigger.target};
  if (reading.HasFaultIn("profile") || reading.HasFaultIn("metricName")) {
    spec.metric_name = Trigger().metric_name;
  }
  const bool bad_target = std::ranges::any_of(
      kTargetKeys, [&](absl::string_view key) { return reading.HasFaultIn(key); });
  if (bad_target) spec.target = reading.profile == nullptr ? 1 : reading.profile->target;
  return spec;
}

}  // namespace gpuscaler

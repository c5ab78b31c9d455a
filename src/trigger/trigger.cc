#include "trigger/trigger.h"

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "trigger/metadata_parser.h"
#include "trigger/trigger_words.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 4> kTargetKeys = {
    "targetValue", "targetGpuUtilization", "targetMemoryUtilization", "jobsPerReplica"};

template <typename Enum>
absl::string_view WordOf(Enum value) {
  return kEnumWords<Enum>[static_cast<size_t>(value)];
}

}  // namespace

std::span<const absl::string_view> TargetKeys() { return kTargetKeys; }

absl::StatusOr<Trigger> ParseTrigger(const Metadata& metadata, const Profiles& profiles) {
  const ParsedMetadata parsed = ParseMetadata(metadata, profiles);
  RETURN_IF_ERROR(StatusOf(parsed.faults));
  return TriggerOf(parsed.settings);
}

MetricSpec SpecOf(const Metadata& metadata, const Profiles& profiles) {
  const ParsedMetadata parsed = ParseMetadata(metadata, profiles);
  const Trigger trigger = TriggerOf(parsed.settings);
  MetricSpec spec{.metric_name = trigger.metric_name, .target = trigger.target};
  if (parsed.HasFaultIn("profile") || parsed.HasFaultIn("metricName")) {
    spec.metric_name = Trigger().metric_name;
  }
  const bool bad_target = std::ranges::any_of(
      kTargetKeys, [&](absl::string_view key) { return parsed.HasFaultIn(key); });
  const Trigger& start = parsed.settings.trigger;
  if (bad_target) spec.target = start.profile.empty() ? 1 : start.target;
  return spec;
}

absl::string_view Name(TargetType type) { return WordOf(type); }
absl::string_view Name(Scope scope) { return WordOf(scope); }
absl::string_view Name(Aggregation aggregation) { return WordOf(aggregation); }
absl::string_view Name(ReplicaAggregation aggregation) { return WordOf(aggregation); }
absl::string_view Name(WindowAggregation aggregation) { return WordOf(aggregation); }
absl::string_view Name(DemandUse use) { return WordOf(use); }
absl::string_view Name(EngineFallback fallback) { return WordOf(fallback); }
absl::string_view Name(ScaleIn scale_in) { return WordOf(scale_in); }

}  // namespace gpuscaler

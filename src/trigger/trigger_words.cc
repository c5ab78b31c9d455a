#include "trigger/trigger_words.h"

#include <array>

namespace gpuscaler {
namespace {

constexpr std::array<Word<TargetType>, 2> kTargetTypes = {{
    {TargetType::kAverageValue, "AverageValue"},
    {TargetType::kValue, "Value"},
}};

constexpr std::array<Word<Scope>, 3> kScopes = {{
    {Scope::kWorkload, "workload"},
    {Scope::kNode, "node"},
    {Scope::kFleet, "fleet"},
}};

constexpr std::array<Word<Aggregation>, 6> kAggregations = {{
    {Aggregation::kMax, "max"},
    {Aggregation::kMin, "min"},
    {Aggregation::kAvg, "avg"},
    {Aggregation::kSum, "sum"},
    {Aggregation::kP95, "p95"},
    {Aggregation::kP99, "p99"},
}};

constexpr std::array<Word<ReplicaAggregation>, 4> kReplicaAggregations = {{
    {ReplicaAggregation::kAvg, "avg"},
    {ReplicaAggregation::kMax, "max"},
    {ReplicaAggregation::kMin, "min"},
    {ReplicaAggregation::kP95, "p95"},
}};

constexpr std::array<Word<WindowAggregation>, 3> kWindowAggregations = {{
    {WindowAggregation::kAvg, "avg"},
    {WindowAggregation::kMax, "max"},
    {WindowAggregation::kP95, "p95"},
}};

constexpr std::array<Word<EngineFallback>, 3> kEngineFallbacks = {{
    {EngineFallback::kUtilization, "utilization"},
    {EngineFallback::kActivity, "activity"},
    {EngineFallback::kNone, "none"},
}};

constexpr std::array<Word<DemandUse>, 3> kDemandUses = {{
    {DemandUse::kOn, "on"},
    {DemandUse::kOff, "off"},
    {DemandUse::kObserve, "observe"},
}};

constexpr std::array<Word<ScaleIn>, 2> kScaleIns = {{
    {ScaleIn::kFollow, "follow"},
    {ScaleIn::kHold, "hold"},
}};

constexpr std::array<Word<PreallocatedMemory>, 3> kPreallocatedMemories = {{
    {PreallocatedMemory::kLiteral, "literal"},
    {PreallocatedMemory::kPressure, "pressure"},
    {PreallocatedMemory::kActivity, "activity"},
}};

constexpr std::array<Word<PrometheusKind>, 2> kPrometheusKinds = {{
    {PrometheusKind::kGauge, "gauge"},
    {PrometheusKind::kRate, "rate"},
}};

constexpr std::array<Word<PrometheusAbsent>, 2> kPrometheusAbsents = {{
    {PrometheusAbsent::kError, "error"},
    {PrometheusAbsent::kZero, "0"},
}};

template <typename Enum>
absl::string_view WordOf(Enum value) {
  return Words<Enum>()[static_cast<size_t>(value)].word;
}

}  // namespace

template <>
std::span<const Word<TargetType>> Words() {
  return kTargetTypes;
}
template <>
std::span<const Word<Scope>> Words() {
  return kScopes;
}
template <>
std::span<const Word<Aggregation>> Words() {
  return kAggregations;
}
template <>
std::span<const Word<ReplicaAggregation>> Words() {
  return kReplicaAggregations;
}
template <>
std::span<const Word<WindowAggregation>> Words() {
  return kWindowAggregations;
}
template <>
std::span<const Word<EngineFallback>> Words() {
  return kEngineFallbacks;
}
template <>
std::span<const Word<DemandUse>> Words() {
  return kDemandUses;
}
template <>
std::span<const Word<ScaleIn>> Words() {
  return kScaleIns;
}
template <>
std::span<const Word<PreallocatedMemory>> Words() {
  return kPreallocatedMemories;
}
template <>
std::span<const Word<PrometheusKind>> Words() {
  return kPrometheusKinds;
}
template <>
std::span<const Word<PrometheusAbsent>> Words() {
  return kPrometheusAbsents;
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

// The words of each enumeration in metadata: one row per word.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

template <typename Enum>
struct Word {
  Enum value;
  absl::string_view word;
};

// The words in the order of the enum. Only specializations may be used.
template <typename Enum>
inline constexpr Word<Enum> kEnumWords = {};

template <>
inline constexpr std::array<Word<TargetType>, 2> kEnumWords<TargetType> = {{
    {TargetType::kAverageValue, "AverageValue"},
    {TargetType::kValue, "Value"},
}};

template <>
inline constexpr std::array<Word<Scope>, 3> kEnumWords<Scope> = {{
    {Scope::kWorkload, "workload"},
    {Scope::kNode, "node"},
    {Scope::kFleet, "fleet"},
}};

template <>
inline constexpr std::array<Word<Aggregation>, 6> kEnumWords<Aggregation> = {{
    {Aggregation::kMax, "max"},
    {Aggregation::kMin, "min"},
    {Aggregation::kAvg, "avg"},
    {Aggregation::kSum, "sum"},
    {Aggregation::kP95, "p95"},
    {Aggregation::kP99, "p99"},
}};

template <>
inline constexpr std::array<Word<ReplicaAggregation>, 4> kEnumWords<ReplicaAggregation> = {{
    {ReplicaAggregation::kAvg, "avg"},
    {ReplicaAggregation::kMax, "max"},
    {ReplicaAggregation::kMin, "min"},
    {ReplicaAggregation::kP95, "p95"},
}};

template <>
inline constexpr std::array<Word<WindowAggregation>, 3> kEnumWords<WindowAggregation> = {{
    {WindowAggregation::kAvg, "avg"},
    {WindowAggregation::kMax, "max"},
    {WindowAggregation::kP95, "p95"},
}};

template <>
inline constexpr std::array<Word<EngineFallback>, 3> kEnumWords<EngineFallback> = {{
    {EngineFallback::kUtilization, "utilization"},
    {EngineFallback::kActivity, "activity"},
    {EngineFallback::kNone, "none"},
}};

template <>
inline constexpr std::array<Word<DemandUse>, 3> kEnumWords<DemandUse> = {{
    {DemandUse::kOn, "on"},
    {DemandUse::kOff, "off"},
    {DemandUse::kObserve, "observe"},
}};

template <>
inline constexpr std::array<Word<ScaleIn>, 2> kEnumWords<ScaleIn> = {{
    {ScaleIn::kFollow, "follow"},
    {ScaleIn::kHold, "hold"},
}};

template <>
inline constexpr std::array<Word<PreallocatedMemory>, 3> kEnumWords<PreallocatedMemory> = {{
    {PreallocatedMemory::kLiteral, "literal"},
    {PreallocatedMemory::kPressure, "pressure"},
    {PreallocatedMemory::kActivity, "activity"},
}};

template <>
inline constexpr std::array<Word<PrometheusKind>, 2> kEnumWords<PrometheusKind> = {{
    {PrometheusKind::kGauge, "gauge"},
    {PrometheusKind::kRate, "rate"},
}};

template <>
inline constexpr std::array<Word<PrometheusAbsent>, 2> kEnumWords<PrometheusAbsent> = {{
    {PrometheusAbsent::kError, "error"},
    {PrometheusAbsent::kZero, "0"},
}};

template <typename Enum>
std::optional<Enum> FromWord(absl::string_view text) {
  for (const Word<Enum>& row : kEnumWords<Enum>) {
    if (row.word == text) return row.value;
  }
  return std::nullopt;
}

template <typename Enum>
std::vector<absl::string_view> AllWords() {
  std::vector<absl::string_view> words;
  for (const Word<Enum>& row : kEnumWords<Enum>) words.push_back(row.word);
  return words;
}

}  // namespace gpuscaler

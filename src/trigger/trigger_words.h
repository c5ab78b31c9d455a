// The words of each enumeration in metadata.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

template <size_t kSize>
using WordList = std::array<absl::string_view, kSize>;

// The words in the order of the enum. Only specializations may be used.
template <typename Enum>
inline constexpr WordList<0> kEnumWords = {};

template <>
inline constexpr WordList<2> kEnumWords<TargetType> = {"AverageValue", "Value"};
template <>
inline constexpr WordList<3> kEnumWords<Scope> = {"workload", "node", "fleet"};
template <>
inline constexpr WordList<6> kEnumWords<Aggregation> = {"max", "min", "avg", "sum", "p95", "p99"};
template <>
inline constexpr WordList<4> kEnumWords<ReplicaAggregation> = {"avg", "max", "min", "p95"};
template <>
inline constexpr WordList<3> kEnumWords<WindowAggregation> = {"avg", "max", "p95"};
template <>
inline constexpr WordList<3> kEnumWords<EngineFallback> = {"utilization", "activity", "none"};
template <>
inline constexpr WordList<3> kEnumWords<DemandUse> = {"on", "off", "observe"};
template <>
inline constexpr WordList<2> kEnumWords<ScaleIn> = {"follow", "hold"};
template <>
inline constexpr WordList<3> kEnumWords<PreallocatedMemory> = {"literal", "pressure", "activity"};
template <>
inline constexpr WordList<2> kEnumWords<PrometheusKind> = {"gauge", "rate"};
template <>
inline constexpr WordList<2> kEnumWords<PrometheusAbsent> = {"error", "0"};

template <typename Enum>
std::optional<Enum> FromWord(absl::string_view text) {
  const auto& words = kEnumWords<Enum>;
  const auto word = std::ranges::find(words, text);
  return word == words.end() ? std::nullopt
                             : std::optional(static_cast<Enum>(word - words.begin()));
}

template <typename Enum>
std::vector<absl::string_view> AllWords() {
  const auto& words = kEnumWords<Enum>;
  return std::vector<absl::string_view>(words.begin(), words.end());
}

}  // namespace gpuscaler

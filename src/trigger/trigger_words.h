// The words that metadata may use for each enumeration, one row a word.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

template <typename Enum>
struct Word {
  Enum value;
  absl::string_view word;
};

// In the order of the enum.
template <typename Enum>
std::span<const Word<Enum>> Words();
template <>
std::span<const Word<TargetType>> Words();
template <>
std::span<const Word<Scope>> Words();
template <>
std::span<const Word<Aggregation>> Words();
template <>
std::span<const Word<ReplicaAggregation>> Words();
template <>
std::span<const Word<WindowAggregation>> Words();
template <>
std::span<const Word<EngineFallback>> Words();
template <>
std::span<const Word<DemandUse>> Words();
template <>
std::span<const Word<ScaleIn>> Words();
template <>
std::span<const Word<PreallocatedMemory>> Words();
template <>
std::span<const Word<PrometheusKind>> Words();
template <>
std::span<const Word<PrometheusAbsent>> Words();

template <typename Enum>
std::optional<Enum> FromWord(absl::string_view text) {
  for (const Word<Enum>& row : Words<Enum>()) {
    if (row.word == text) return row.value;
  }
  return std::nullopt;
}

template <typename Enum>
std::vector<absl::string_view> AllWords() {
  std::vector<absl::string_view> words;
  for (const Word<Enum>& row : Words<Enum>()) words.push_back(row.word);
  return words;
}

}  // namespace gpuscaler

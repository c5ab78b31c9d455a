// Readers of metadata values: numbers, durations, words and texts, each within bounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "trigger/trigger_keys.h"
#include "trigger/trigger_words.h"

namespace gpuscaler {

// KEDA carries targets as an int64 in thousandths: smaller ones round to 0, larger ones overflow.
constexpr double kSmallestTarget = 0.001;
constexpr double kLargestNumber = 1e12;

constexpr char kTargetAllowed[] = "a number above 0 (0.001 to 1e12)";

// Return nothing if the text is not valid, or not within bounds.
std::optional<double> NumberIn(absl::string_view text, double least, double most);
std::optional<int> WholeIn(absl::string_view text, int least, int most);
std::optional<absl::Duration> DurationUpTo(absl::string_view text, absl::Duration most);

enum class LineBreaks { kNone, kAllowed };
// Returns true if the text is printable, not empty, and has at most `most` bytes.
bool IsText(absl::string_view text, size_t most, LineBreaks breaks = LineBreaks::kNone);

template <typename T, typename To>
bool Assign(const std::optional<T>& value, To& field) {
  if (value) field = *value;
  return value.has_value();
}

// Return a field of the settings, of their trigger, or of one of its sources.
template <typename T>
T& FieldOf(Settings& settings, T Settings::*field) {
  return settings.*field;
}
template <typename T>
T& FieldOf(Settings& settings, T Trigger::*field) {
  return settings.trigger.*field;
}
template <typename T>
T& FieldOf(Settings& settings, T MetricsEndpoint::*field) {
  return settings.trigger.metrics_endpoint.*field;
}
template <typename T>
T& FieldOf(Settings& settings, T RedisQueue::*field) {
  return settings.trigger.queue.*field;
}
template <typename T>
T& FieldOf(Settings& settings, T EndpointCredentials::*field) {
  return settings.trigger.credentials.*field;
}

// Readers for KeyRow::read.
template <auto kField>
bool ReadTarget(absl::string_view text, Settings& settings) {
  return Assign(NumberIn(text, kSmallestTarget, kLargestNumber), FieldOf(settings, kField));
}

template <auto kField, int kLeast, int kMax>
bool ReadWhole(absl::string_view text, Settings& settings) {
  return Assign(WholeIn(text, kLeast, kMax), FieldOf(settings, kField));
}

template <auto kField, size_t kMax>
bool ReadText(absl::string_view text, Settings& settings) {
  if (!IsText(text, kMax)) return false;
  FieldOf(settings, kField) = std::string(text);
  return true;
}

template <typename Enum, auto kField>
bool ReadWord(absl::string_view text, Settings& settings) {
  return Assign(FromWord<Enum>(text), FieldOf(settings, kField));
}

template <typename Enum, auto kField>
KeyRow WordRow(const char* name, const char* default_value, const char* help,
               KeyUse use = KeyUse::kAny) {
  const std::vector<absl::string_view> words = AllWords<Enum>();
  return {.name = name,
          .allowed = JoinedWithOr(words),
          .default_value = default_value,
          .help = help,
          .words = words,
          .read = ReadWord<Enum, kField>,
          .use = use};
}

}  // namespace gpuscaler

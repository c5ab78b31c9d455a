// Metadata of triggers, which tenants write. An input has "key: value" lines; the value "@900 ab"
// is 900 bytes of "abab...".
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fuzz_assert.h"
#include "libfuzzer.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kSecret = "hunter2hunter2";
constexpr size_t kMostBytes = 40'000;  // the values of one input together
constexpr int kMostUnknown = 1;        // keys: the search for similar ones takes most of the time

// Returns the text of "@N text", repeated up to N bytes, and any other value as it is.
std::string Repeated(absl::string_view value, size_t most) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits(' ', 1));
  uint32_t bytes = 0;
  if (!absl::StartsWith(value, "@") || parts.second.empty() ||
      !absl::SimpleAtoi(parts.first.substr(1), &bytes)) {
    return std::string(value.substr(0, most));
  }
  std::string repeated;
  const size_t end = std::min<size_t>(bytes, most);
  while (repeated.size() < end) absl::StrAppend(&repeated, parts.second);
  repeated.resize(end);
  return repeated;
}

bool IsSecret(absl::string_view key) {
  const KeyRow* const row = FindKey(NameIn(key).name);
  return row != nullptr && row->secret;
}

// A value may have escapes, for example for line breaks. That of a secret key begins with kSecret,
// and "$" alone stands for it elsewhere.
Metadata MetadataIn(absl::string_view text) {
  Metadata metadata;
  size_t left = kMostBytes;
  int unknown = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    const bool is_known = FindKey(NameIn(entry.first).name) != nullptr;
    if (!is_known && ++unknown > kMostUnknown) continue;
    std::string value;
    if (!absl::CUnescape(entry.second, &value)) value = std::string(entry.second);
    value = Repeated(value, left);
    left -= value.size();
    if (IsSecret(entry.first)) value.insert(0, kSecret.data(), kSecret.size());
    if (NameIn(entry.first).from_env && value == "$") value = std::string(kSecret);
    metadata[std::string(entry.first)] = std::move(value);
  }
  return metadata;
}

bool IsPrintable(absl::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void CheckMetadata(const Metadata& metadata) {
  const MetricSpec spec = SpecOf(metadata, BuiltInProfiles());
  FUZZ_ASSERT(spec.target > 0 && spec.target <= 1e12 && IsPathSafe(spec.metric_name));
  const auto trigger = ParseTrigger(metadata, BuiltInProfiles());
  if (!trigger.ok()) {
    FUZZ_ASSERT(absl::IsInvalidArgument(trigger.status()) && !trigger.status().message().empty());
    FUZZ_ASSERT(IsPrintable(trigger.status().message()));
    FUZZ_ASSERT(!absl::StrContains(trigger.status().message(), kSecret));
    return;
  }
  FUZZ_ASSERT(spec.metric_name == trigger->metric_name && spec.target == trigger->target);
  FUZZ_ASSERT(trigger->activation_threshold >= 0 && trigger->gpus_per_replica >= 1);
  FUZZ_ASSERT(trigger->window >= absl::ZeroDuration() && trigger->window <= kLongestWindow);
  FUZZ_ASSERT(trigger->activation_window >= absl::ZeroDuration());
  FUZZ_ASSERT(trigger->activation_window <= kLongestWindow && trigger->gpu_index >= -1);
  FUZZ_ASSERT(trigger->metrics_endpoint.selector.size() <= 1000);
  FUZZ_ASSERT(trigger->credentials.bearer_token.size() <= 8 << 10);
  FUZZ_ASSERT(trigger->credentials.ca_pem.size() <= 32 << 10);
  FUZZ_ASSERT(IsPrintable(trigger->workload) && IsPrintable(trigger->workload_kind));
}

// Returns a line with a known key, and sometimes one of its keywords or a long value.
std::string KnownLine(std::mt19937& random) {
  const std::vector<KeyRow>& rows = KeyRows();
  const KeyRow& row = rows[random() % rows.size()];
  const bool is_from_env = random() % 8 == 0;
  std::string value =
      row.words.empty() ? row.default_value : std::string(row.words[random() % row.words.size()]);
  if (row.words.empty() && random() % 4 == 0) value = absl::StrCat("@", random() % 40'000, " a");
  if (is_from_env && random() % 2 == 0) value = "$";
  return absl::StrCat("\n", row.name, is_from_env ? "FromEnv" : "", ": ", value);
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::mt19937 random(seed);
  const std::string line = gpuscaler::KnownLine(random);
  if (random() % 4 != 0 || size + line.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::ranges::copy(line, data + size);
  return size + line.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (absl::StrContains(text, gpuscaler::kSecret)) return 0;  // it would be no secret
  gpuscaler::CheckMetadata(gpuscaler::MetadataIn(text));
  return 0;
}

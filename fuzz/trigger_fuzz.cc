// Metadata of triggers, which tenants write. An input has "key: value" lines.
#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "fuzz_assert.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace gpuscaler {
namespace {

// A value may have escapes, for example for line breaks.
Metadata MetadataIn(absl::string_view text) {
  Metadata metadata;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    std::string value;
    if (!absl::CUnescape(entry.second, &value)) value = std::string(entry.second);
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
    return;
  }
  FUZZ_ASSERT(spec.metric_name == trigger->metric_name && spec.target == trigger->target);
  FUZZ_ASSERT(trigger->activation_threshold >= 0 && trigger->gpus_per_replica >= 1);
  FUZZ_ASSERT(trigger->window >= absl::ZeroDuration() && trigger->window <= kLongestWindow);
  FUZZ_ASSERT(trigger->activation_window >= absl::ZeroDuration());
  FUZZ_ASSERT(trigger->activation_window <= kLongestWindow && trigger->gpu_index >= -1);
  FUZZ_ASSERT(IsPrintable(trigger->workload) && IsPrintable(trigger->workload_kind));
}

// Returns a line with a known key, and sometimes one of its keywords.
std::string KnownLine(std::mt19937& random) {
  const std::vector<KeyRow>& rows = KeyRows();
  const KeyRow& row = rows[random() % rows.size()];
  const absl::string_view value = row.words.empty() ? absl::string_view(row.default_value)
                                                    : row.words[random() % row.words.size()];
  return absl::StrCat("\n", row.name, random() % 8 == 0 ? "FromEnv" : "", ": ", value);
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
  gpuscaler::CheckMetadata(gpuscaler::MetadataIn({reinterpret_cast<const char*>(data), size}));
  return 0;
}

// Metrics pages as inputs. A line may stand for many, so that a short input reaches the limits on
// long pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libfuzzer.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// "@3 up{pod="p#"} 1" stands for 3 lines, in which # is 0, 1 and 2. All other text stays.
inline std::string ExpandedLines(absl::string_view text) {
  constexpr int kMaxRepeats = 1100;
  constexpr size_t kMaxBytes = size_t{64} << 10;
  if (!absl::StrContains(text, '@')) return std::string(text);
  std::string page;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int repeats = 0;
    if (!absl::ConsumePrefix(&parts.first, "@") || !absl::SimpleAtoi(parts.first, &repeats)) {
      absl::StrAppend(&page, line, "\n");
      continue;
    }
    for (int i = 0; i < std::min(repeats, kMaxRepeats) && page.size() < kMaxBytes; ++i) {
      absl::StrAppend(&page, absl::StrReplaceAll(parts.second, {{"#", absl::StrCat(i)}}), "\n");
    }
  }
  if (!page.empty()) page.pop_back();  // the last line of `text` has no line feed
  return page;
}

// Only OpenMetrics requires this comment. A page in both formats would take twice as long.
inline ExpositionFormat FormatOf(absl::string_view page) {
  return absl::StrContains(page, "# EOF") ? ExpositionFormat::kOpenMetrics
                                          : ExpositionFormat::kText;
}

// Returns the line, or sometimes several if it has a #: one fewer than `limit`, as many or one
// more.
inline std::string MaybeRepeated(const std::string& line, size_t limit, std::mt19937& random) {
  if (!absl::StrContains(line, '#') || random() % 4 != 0) return line;
  return absl::StrCat("@", limit - 1 + random() % 3, " ", line);
}

// Implements LLVMFuzzerCustomMutator(): sometimes prepends `line`. Mostly makes comments of the
// lines that stand for many, because long pages take long.
inline size_t MutateOrPrepend(const std::string& line, uint8_t* data, size_t size, size_t max_size,
                              std::mt19937& random) {
  if (random() % 16 != 0) std::replace(data, data + size, '@', '#');
  if (random() % 4 != 0 || size + line.size() + 1 > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy_backward(data, data + size, data + size + line.size() + 1);
  *std::ranges::copy(line, data).out = '\n';
  return size + line.size() + 1;
}

}  // namespace gpuscaler

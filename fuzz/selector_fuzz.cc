// Metric selectors, which tenants write.
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/series_growth.h"
#include "fuzz_assert.h"
#include "page/prometheus_metric.h"
#include "page/test_series_query.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kPage =
    "queue_size{pool=\"chat\",route=\"v1\"} 3\n"
    "queue_size{pool=\"em\\\\bed\\n\"} 10\n"
    "a_total 9\n";

// Names are kept, and values are in double quotes.
std::string CanonicalText(const MetricSelector& selector) {
  constexpr absl::string_view kOperators[] = {"=", "!=", "=~", "!~"};  // in the order of Kind
  std::string text = absl::StrCat(selector.name, "{");
  for (const LabelMatcher& matcher : selector.matchers) {
    absl::StrAppend(
        &text, matcher.label, kOperators[static_cast<size_t>(matcher.kind)], "\"",
        absl::StrReplaceAll(matcher.value, {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}}), "\",");
  }
  return absl::StrCat(text, "}");
}

void CheckCanonicalText(const MetricSelector& selector, const absl::StatusOr<double>& sum) {
  const std::string text = CanonicalText(selector);
  const auto again = ParseMetricSelector(text);
  if (text.size() > kMaxSelectorLength) return;
  FUZZ_ASSERT(again.ok() && again->name == selector.name);
  FUZZ_ASSERT(std::ranges::equal(again->matchers, selector.matchers, [](auto& a, auto& b) {
    return a.label == b.label && a.kind == b.kind && a.value == b.value;
  }));
  const auto same_sum = SumOf(*again, kPage);
  FUZZ_ASSERT(same_sum.ok() == sum.ok() && same_sum.value_or(0) == sum.value_or(0));
}

void CheckSelector(absl::string_view text) {
  const auto selector = ParseMetricSelector(text);
  if (!selector.ok()) {
    FUZZ_ASSERT(selector.status().code() == absl::StatusCode::kInvalidArgument);
    FUZZ_ASSERT(!selector.status().message().empty());
    return;
  }
  FUZZ_ASSERT(!selector->name.empty() && selector->matchers.size() <= kMaxMatchers);
  const auto sum = SumOf(*selector, kPage);
  FUZZ_ASSERT(sum.ok() || sum.status().code() == absl::StatusCode::kNotFound);
  CheckCanonicalText(*selector, sum);
  const auto zero_if_absent =
      SumOf(*selector, kPage, ExpositionFormat::kText, /*zero_if_absent=*/true);
  FUZZ_ASSERT(zero_if_absent.ok() && *zero_if_absent == sum.value_or(0));

  SeriesGrowth growth(selector->text, absl::Seconds(10));
  for (int second = 0; second < 2; ++second) {
    FUZZ_ASSERT(ReadOne(*selector, growth, kPage).ok() == sum.ok());
    if (!sum.ok()) continue;
    const auto grown = growth.GrownBy(absl::UnixEpoch() + absl::Seconds(second));
    FUZZ_ASSERT(grown.ok() && grown->value == 0);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckSelector({reinterpret_cast<const char*>(data), size});
  return 0;
}

// Metric selectors, which tenants write.
#include <cstdint>

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

void CheckSelector(absl::string_view text) {
  const auto selector = ParseMetricSelector(text);
  if (!selector.ok()) {
    FUZZ_ASSERT(selector.status().code() == absl::StatusCode::kInvalidArgument);
    FUZZ_ASSERT(!selector.status().message().empty());
    return;
  }
  FUZZ_ASSERT(!selector->name.empty() && selector->matchers.size() <= kMaxMatchers);
  FUZZ_ASSERT(ParseMetricSelector(selector->text).ok());
  const auto sum = SumOf(*selector, kPage);
  FUZZ_ASSERT(sum.ok() || sum.status().code() == absl::StatusCode::kNotFound);
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

#include "series/series_growth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// Alike for one series whatever the order of its labels. An empty label is none.
std::string LabelsOf(const PageSample& sample) {
  std::vector<std::string> labels;
  for (const PageLabel& label : sample.labels) {
    if (label.escaped_value.empty()) continue;
    labels.push_back(absl::StrCat(label.name, "=\"", label.escaped_value, "\","));
  }
  std::ranges::sort(labels);
  std::string all;
  for (const std::string& label : labels) all += label;
  return all;
}

}  // namespace

absl::StatusOr<std::map<SeriesGrowth::Key, double>> SeriesGrowth::SeriesOn(
    absl::string_view page, PageFormat format) const {
  std::map<Key, double> series;
  bool is_repeated = false;
  RETURN_IF_ERROR(ReadSeries(selector_, page, format, if_absent_, [&](const PageSample& sample) {
    if (series.size() > kMostSeries) return;  // an error by now
    const Key key = std::hash<std::string>()(LabelsOf(sample));
    is_repeated |= !series.try_emplace(key, sample.value).second;
  }));
  if (is_repeated) {
    return absl::InvalidArgumentError(
        absl::StrCat("a series of ", selector_.text, " is on the page twice"));
  }
  if (series.size() <= kMostSeries) return series;
  return absl::FailedPreconditionError(absl::StrCat("more than ", kMostSeries, " series of ",
                                                    selector_.text,
                                                    " on the page: pick fewer by their labels"));
}

double SeriesGrowth::GrowthSinceSeen(Key key, absl::Time at, double value) const {
  const auto found = seen_.find(key);
  if (found == seen_.end() || at - found->second.at > longest_gap_) {
    return at - none_at_ > longest_gap_ ? 0 : value;
  }
  const double before = found->second.value;
  return value < before ? value : value - before;
}

void SeriesGrowth::Forget(absl::Time now) {
  const bool are_many = seen_.size() > kMostSeries;
  std::erase_if(seen_, [&](const auto& series) {
    const absl::Duration unseen = now - series.second.at;
    return unseen > longest_gap_ || (are_many && unseen > absl::ZeroDuration());
  });
}

absl::StatusOr<CounterPoint> SeriesGrowth::Take(absl::Time at, absl::string_view page,
                                                PageFormat format) {
  ASSIGN_OR_RETURN(const auto series, SeriesOn(page, format));
  double total = total_;
  for (const auto& [key, value] : series) total += GrowthSinceSeen(key, at, value);
  if (!std::isfinite(total) || total < total_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the series of ", selector_.text, " do not count: they are negative or huge"));
  }
  total_ = total;
  if (series.empty()) none_at_ = at;
  for (const auto& [key, value] : series) seen_[key] = {.at = at, .value = value};
  Forget(at);
  return CounterPoint{.instant = {.at = at}, .value = total_};
}

}  // namespace gpuscaler

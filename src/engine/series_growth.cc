#include "engine/series_growth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// The text is the same for all orders of the labels. An empty label counts as missing.
std::string LabelsOf(const ExpositionSample& sample) {
  std::vector<std::string> labels;
  for (const ExpositionLabel& label : sample.labels) {
    if (label.escaped_value.empty()) continue;
    labels.push_back(absl::StrCat(label.name, "=\"", label.escaped_value, "\","));
  }
  std::ranges::sort(labels);
  std::string all;
  for (const std::string& label : labels) all += label;
  return all;
}

}  // namespace

void SeriesGrowth::Begin() { on_page_ = std::vector<std::pair<Key, double>>(); }

void SeriesGrowth::Consume(const ExpositionSample& sample) {
  if (on_page_.size() > kMaxSeries) return;  // GrownBy() returns an error
  on_page_.emplace_back(std::hash<std::string>()(LabelsOf(sample)), sample.value);
}

absl::Status SeriesGrowth::CheckPage() {
  const auto key = [](const auto& series) { return series.first; };
  std::ranges::sort(on_page_, {}, key);
  if (std::ranges::adjacent_find(on_page_, {}, key) != on_page_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a series of ", selector_, " is on the page twice"));
  }
  if (on_page_.size() <= kMaxSeries) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("more than ", kMaxSeries, " series of ",
                                                    selector_,
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
  const bool are_many = seen_.size() > kMaxSeries;
  std::erase_if(seen_, [&](const auto& series) {
    const absl::Duration unseen = now - series.second.at;
    return unseen > longest_gap_ || (are_many && unseen > absl::ZeroDuration());
  });
}

absl::StatusOr<CounterPoint> SeriesGrowth::GrownBy(absl::Time at) {
  RETURN_IF_ERROR(CheckPage());
  double total = total_;
  for (const auto& [key, value] : on_page_) total += GrowthSinceSeen(key, at, value);
  if (!std::isfinite(total) || total < total_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the series of ", selector_, " do not count: they are negative or huge"));
  }
  total_ = total;
  if (on_page_.empty()) none_at_ = at;
  for (const auto& [key, value] : on_page_) seen_[key] = {.at = at, .value = value};
  Forget(at);
  return CounterPoint{.instant = {.at = at}, .value = total_};
}

}  // namespace gpuscaler

#include "page/series_picks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

absl::Status TakesTooLong(const SeriesPick& pick, size_t tenant_picks) {
  std::string shared;
  if (tenant_picks > 1) {
    shared =
        absl::StrCat(", in the time that ", tenant_picks, " selectors of ", pick.tenant, " share");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the regular expressions of ", pick.selector->text,
                   " would take too long on this page", shared, ": use =, or shorter ones"));
}

// The state of one pick while an exposition is read.
class PickState {
 public:
  PickState(const SeriesPick& pick, size_t tenant_picks)
      : pick_(pick), tenant_picks_(tenant_picks), steps_left_(kMaxRegexSteps / tenant_picks) {
    pick_.taker->Begin();
  }

  void Offer(const ExpositionSample& sample) {
    if (takes_too_long_) return;
    const std::optional<bool> matches = pick_.selector->Matches(sample, steps_left_);
    takes_too_long_ = !matches.has_value();
    if (!matches.value_or(false)) return;
    is_found_ = true;
    are_finite_ = are_finite_ && std::isfinite(sample.value);
    pick_.taker->Take(sample);
  }

  // Returns the status after a complete exposition.
  absl::Status Result(bool is_blank) const {
    if (takes_too_long_) return TakesTooLong(pick_, tenant_picks_);
    if (!is_found_ && (is_blank || pick_.if_absent == IfAbsent::kError)) {
      return absl::NotFoundError(absl::StrCat("no series of ", pick_.selector->text, " on the page",
                                              is_blank ? ", which is empty" : ""));
    }
    return are_finite_ ? absl::OkStatus() : NotFinite(*pick_.selector);
  }

 private:
  const SeriesPick& pick_;
  const size_t tenant_picks_;  // number of the tenant's picks with regular expressions
  size_t steps_left_;
  bool takes_too_long_ = false;
  bool is_found_ = false;
  bool are_finite_ = true;
};

std::vector<PickState> Begin(std::span<const SeriesPick> picks) {
  std::map<absl::string_view, size_t> with_regex;  // count per tenant
  for (const SeriesPick& pick : picks) with_regex[pick.tenant] += pick.selector->HasRegex() ? 1 : 0;
  std::vector<PickState> states;
  states.reserve(picks.size());
  for (const SeriesPick& pick : picks) {
    states.emplace_back(pick, std::max<size_t>(with_regex[pick.tenant], 1));
  }
  return states;
}

// The picks of one metric. If a hundred differ in the value of a label, a sample is offered to one.
class MetricPicks {
 public:
  void Add(PickState& state, const MetricSelector& selector) {
    const auto by = std::ranges::find_if(selector.matchers, [](const LabelMatcher& matcher) {
      return matcher.kind == LabelMatcher::Kind::kEqual && !matcher.value.empty();
    });
    if (by == selector.matchers.end()) {
      any_.push_back(&state);
    } else {
      by_label_[by->label][by->value].push_back(&state);
    }
  }

  void Offer(const ExpositionSample& sample) const {
    for (PickState* state : any_) state->Offer(sample);
    for (const auto& [label, by_value] : by_label_) {
      const absl::string_view escaped = sample.EscapedLabel(label);
      const auto found = absl::StrContains(escaped, '\\') ? by_value.find(Unescaped(escaped))
                                                          : by_value.find(escaped);
      if (found == by_value.end()) continue;
      for (PickState* state : found->second) state->Offer(sample);
    }
  }

 private:
  using ByValue = std::map<absl::string_view, std::vector<PickState*>>;
  std::vector<PickState*> any_;
  std::map<absl::string_view, ByValue> by_label_;
};

}  // namespace

std::vector<absl::Status> ReadSeries(absl::string_view page, ExpositionFormat format,
                                     std::span<const SeriesPick> picks) {
  std::vector<PickState> states = Begin(picks);
  std::map<absl::string_view, MetricPicks> by_name;
  for (size_t i = 0; i < picks.size(); ++i) {
    by_name[picks[i].selector->name].Add(states[i], *picks[i].selector);
  }
  const MetricPicks* metric = nullptr;
  const absl::Status read = ReadPage(
      page, format,
      [&](absl::string_view name) {
        const auto found = by_name.find(name);
        metric = found == by_name.end() ? nullptr : &found->second;
        return metric != nullptr;
      },
      [&](const ExpositionSample& sample) { metric->Offer(sample); });
  const bool is_blank = absl::StripAsciiWhitespace(page).empty();
  std::vector<absl::Status> results;
  results.reserve(picks.size());
  for (const PickState& state : states) {
    results.push_back(read.ok() ? state.Result(is_blank) : read);
  }
  return results;
}

}  // namespace gpuscaler

#include "page/series_queries.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

absl::Status TakesTooLong(const SeriesQuery& query, size_t tenant_queries) {
  std::string shared;
  if (tenant_queries > 1) {
    shared = absl::StrCat(", in the time that ", tenant_queries, " selectors of ", query.tenant,
                          " share");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the regular expressions of ", query.selector->text,
                   " would take too long on this page", shared, ": use =, or shorter ones"));
}

// The state of one query while an exposition is read.
class QueryState {
 public:
  QueryState(const SeriesQuery& query, size_t tenant_queries)
      : query_(query),
        tenant_queries_(tenant_queries),
        steps_left_(kMaxRegexSteps / tenant_queries) {
    query_.consumer->Begin();
  }

  void Offer(const ExpositionSample& sample) {
    if (takes_too_long_) return;
    const std::optional<bool> matches = query_.selector->Matches(sample, steps_left_);
    takes_too_long_ = !matches.has_value();
    if (!matches.value_or(false)) return;
    is_found_ = true;
    are_finite_ = are_finite_ && std::isfinite(sample.value);
    query_.consumer->Consume(sample);
  }

  // Returns the status after a complete exposition.
  absl::Status Result(bool is_blank) const {
    if (takes_too_long_) return TakesTooLong(query_, tenant_queries_);
    if (!is_found_ && (is_blank || !query_.zero_if_absent)) {
      return absl::NotFoundError(absl::StrCat("no series of ", query_.selector->text,
                                              " on the page", is_blank ? ", which is empty" : ""));
    }
    return are_finite_ ? absl::OkStatus() : NotFinite(*query_.selector);
  }

 private:
  const SeriesQuery& query_;
  const size_t tenant_queries_;  // number of the tenant's queries with regular expressions
  size_t steps_left_;
  bool takes_too_long_ = false;
  bool is_found_ = false;
  bool are_finite_ = true;
};

std::vector<QueryState> Begin(std::span<const SeriesQuery> queries) {
  std::map<absl::string_view, size_t> with_regex;  // count per tenant
  for (const SeriesQuery& query : queries)
    with_regex[query.tenant] += query.selector->HasRegex() ? 1 : 0;
  std::vector<QueryState> states;
  states.reserve(queries.size());
  for (const SeriesQuery& query : queries) {
    states.emplace_back(query, std::max<size_t>(with_regex[query.tenant], 1));
  }
  return states;
}

// The queries of one metric. If a hundred differ in the value of a label, a sample is offered to
// one.
class MetricQueries {
 public:
  void Add(QueryState& state, const MetricSelector& selector) {
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
    for (QueryState* state : any_) state->Offer(sample);
    for (const auto& [label, by_value] : by_label_) {
      const absl::string_view escaped = sample.EscapedLabel(label);
      const auto found = absl::StrContains(escaped, '\\') ? by_value.find(Unescaped(escaped))
                                                          : by_value.find(escaped);
      if (found == by_value.end()) continue;
      for (QueryState* state : found->second) state->Offer(sample);
    }
  }

 private:
  using ByValue = std::map<absl::string_view, std::vector<QueryState*>>;
  std::vector<QueryState*> any_;
  std::map<absl::string_view, ByValue> by_label_;
};

}  // namespace

std::vector<absl::Status> ReadSeries(absl::string_view page, ExpositionFormat format,
                                     std::span<const SeriesQuery> queries) {
  std::vector<QueryState> states = Begin(queries);
  std::map<absl::string_view, MetricQueries> by_name;
  for (size_t i = 0; i < queries.size(); ++i) {
    by_name[queries[i].selector->name].Add(states[i], *queries[i].selector);
  }
  const MetricQueries* metric = nullptr;
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
  results.reserve(queries.size());
  for (const QueryState& state : states) {
    results.push_back(read.ok() ? state.Result(is_blank) : read);
  }
  return results;
}

}  // namespace gpuscaler

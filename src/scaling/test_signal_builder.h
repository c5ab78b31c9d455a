// Readings of engines and queues, for tests: series that are read once a second.
//
//   SignalBuilder signals(now);
//   signals.RepeatFor("redis", kLong, 47);
//   Decide(trigger, ScaledObject, fleet, &signals.history(), kStaleness);
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "model/signal_history.h"

namespace gpuscaler {

class SignalBuilder {
 public:
  // The last reading is at `now`.
  explicit SignalBuilder(absl::Time now) { history_.now = now; }

  // Sets the value for the last `duration`; empty: the reading failed.
  SignalSeries& RepeatFor(const std::string& name, absl::Duration duration,
                          std::optional<double> value) {
    SignalSeries& series = SeriesOf(name);
    series.points.clear();
    return Extend(series, history_.now - duration, value);
  }

  // Changes the value from `ago` on.
  SignalSeries& Then(const std::string& name, absl::Duration ago, std::optional<double> value) {
    SignalSeries& series = SeriesOf(name);
    const absl::Time since = history_.now - ago;
    std::erase_if(series.points, [since](const SignalPoint& point) { return point.at >= since; });
    return Extend(series, since, value);
  }

  // Unlists the series from `ago` on.
  void Unlist(const std::string& name, absl::Duration ago) {
    SignalSeries& series = SeriesOf(name);
    const absl::Time since = history_.now - ago;
    std::erase_if(series.points, [since](const SignalPoint& point) { return point.at >= since; });
    history_.departed.push_back(series);
    std::erase_if(history_.series, [&name](const SignalSeries& each) { return each.name == name; });
  }

  SignalSeries& SeriesOf(const std::string& name) {
    const auto found = std::ranges::find(history_.series, name, &SignalSeries::name);
    if (found != history_.series.end()) return *found;
    history_.series.push_back({.name = name});
    return history_.series.back();
  }

  SignalHistory& history() { return history_; }
  const SignalHistory& history() const { return history_; }

 private:
  SignalSeries& Extend(SignalSeries& series, absl::Time from, std::optional<double> value) {
    for (absl::Time at = from; at <= history_.now; at += absl::Seconds(1)) {
      series.points.push_back({.at = at, .value = value});
    }
    if (value) series.first_read_at = std::min(series.first_read_at, from);
    series.error = value ? "" : "connection refused";
    history_.read_since = std::min(history_.read_since, from);
    return series;
  }

  SignalHistory history_;
};

}  // namespace gpuscaler

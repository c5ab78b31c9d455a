#include "signal/counter_window.h"

namespace gpuscaler {

std::optional<CounterWindow> WindowOf(std::span<const CounterInstant> instants,
                                      const CounterLookBack& look_back) {
  if (instants.size() < 2) return std::nullopt;
  const absl::Time start = instants.back().at - look_back.window;
  CounterWindow window;
  const size_t newest = instants.size() - 1;
  for (size_t i = newest; i > 0 && (i == newest || instants[i].at > start); --i) {
    const absl::Duration gap = instants[i].at - instants[i - 1].at;
    if (!instants[i].goes_on || gap > look_back.longest_gap) continue;
    if (window.runs.empty() || window.runs.back().first != i) {
      window.runs.push_back({.first = i, .last = i});
    }
    window.runs.back().first = i - 1;
    window.covered += gap;
  }
  const bool is_known =
      window.covered > absl::ZeroDuration() && window.covered >= look_back.window / 2;
  return is_known ? std::optional(window) : std::nullopt;
}

std::optional<Growth> GrowthOf(std::span<const CounterPoint> points,
                               const CounterLookBack& look_back) {
  std::vector<CounterInstant> instants;
  instants.reserve(points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    instants.push_back(points[i].instant);
    if (i > 0 && points[i].value < points[i - 1].value) instants.back().goes_on = false;
  }
  const std::optional<CounterWindow> window = WindowOf(instants, look_back);
  if (!window.has_value()) return std::nullopt;
  Growth growth{.over = window->covered};
  for (const CounterRun& run : window->runs) {
    growth.by += points[run.last].value - points[run.first].value;
  }
  return growth;
}

}  // namespace gpuscaler

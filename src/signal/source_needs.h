// How much of a source queries need.
#pragma once

#include <algorithm>
#include <compare>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// The needs of one query, or the union of those of several.
struct SourceNeeds {
  absl::Duration look_back;      // with the query's window
  absl::Duration demand_window;  // EngineQuery::demand_window
  bool histograms = false;
  std::set<std::string> models;  // models in the queries

  void Add(const SourceNeeds& other) {
    look_back = std::max(look_back, other.look_back);
    demand_window = std::max(demand_window, other.demand_window);
    histograms = histograms || other.histograms;
    models.insert(other.models.begin(), other.models.end());
  }
  friend bool operator==(const SourceNeeds&, const SourceNeeds&) = default;
  friend std::weak_ordering operator<=>(const SourceNeeds&, const SourceNeeds&) = default;
};

inline SourceNeeds NeedsOf(const EngineQuery& query) {
  SourceNeeds needs{.look_back = query.look_back + query.window,
                    .demand_window = query.demand_window,
                    .histograms = NeedsHistograms(query)};
  if (!query.model.empty()) needs.models.insert(query.model);
  return needs;
}

}  // namespace gpuscaler

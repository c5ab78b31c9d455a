// The leases on one source: one for each different query.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/time/time.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// Not thread-safe.
class SourceLeases {
 public:
  // Returns true if no lease has this query.
  bool IsNew(const EngineQuery& query) const;

  // Never shortens a longer lease.
  void Renew(const EngineQuery& query, absl::Time until);

  // Returns true if there were expired leases, so less history may be needed.
  bool RemoveExpired(absl::Time now);

  bool empty() const { return until_.empty(); }

  // The needs of all leases together.
  absl::Duration look_back() const { return look_back_; }
  absl::Duration demand_window() const { return demand_window_; }  // EngineQuery::demand_window
  bool histograms() const { return histograms_; }
  const std::set<std::string>& models() const { return models_; }  // models in the queries

  size_t Bytes() const;  // approximate memory

 private:
  struct LeaseKey {
    absl::Duration look_back;
    bool histograms = false;
    std::string model;
    absl::Duration demand_window;

    friend bool operator<(const LeaseKey& a, const LeaseKey& b) {
      return std::tie(a.look_back, a.histograms, a.model, a.demand_window) <
             std::tie(b.look_back, b.histograms, b.model, b.demand_window);
    }
  };

  static LeaseKey KeyOf(const EngineQuery& query);
  void Aggregate();

  std::map<LeaseKey, absl::Time> until_;
  absl::Duration look_back_;
  absl::Duration demand_window_;
  bool histograms_ = false;
  std::set<std::string> models_;
};

}  // namespace gpuscaler

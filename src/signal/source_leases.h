// The leases on one source: one for each different question.
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
  // Returns true if no lease has this question.
  bool IsNew(const EngineQuery& question) const;

  // Never shortens a longer lease.
  void Renew(const EngineQuery& question, absl::Time until);

  // Removes expired leases. Returns true if there were any, so less history may be needed.
  bool End(absl::Time now);

  bool empty() const { return until_.empty(); }

  // The needs of all leases together.
  absl::Duration look_back() const { return look_back_; }
  absl::Duration memory() const { return memory_; }  // EngineQuery::memory
  bool histograms() const { return histograms_; }
  const std::set<std::string>& models() const { return models_; }  // models in the questions

  size_t Bytes() const;  // approximate memory

 private:
  struct Interest {
    absl::Duration look_back;
    bool histograms = false;
    std::string model;
    absl::Duration memory;

    friend bool operator<(const Interest& a, const Interest& b) {
      return std::tie(a.look_back, a.histograms, a.model, a.memory) <
             std::tie(b.look_back, b.histograms, b.model, b.memory);
    }
  };

  static Interest InterestOf(const EngineQuery& question);
  void Aggregate();

  std::map<Interest, absl::Time> until_;
  absl::Duration look_back_;
  absl::Duration memory_;
  bool histograms_ = false;
  std::set<std::string> models_;
};

}  // namespace gpuscaler

// Detects whether an exporter's exposition was collected anew. It has no timestamps, and exporters
// collect less often than they are queried.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gpu/exporter_exposition.h"

namespace gpuscaler {

// Compares energy counters. They are among the exporters' default metrics, and grow with each
// collection even if the GPU is idle. Not thread-safe.
class ExporterCollectionDetector {
 public:
  // Returns true if the page was collected after the one before, or if it has no energy counter.
  bool Update(const ExporterExposition& page);

  // Returns true if the last page had an energy counter.
  bool has_energy() const { return has_energy_; }

  // Returns true if the energy counters of other devices have changed several times since this
  // device's did: the exporter does not read it any more.
  bool RepeatsOldValue(const ExporterDevice& device) const;

 private:
  struct Counter {
    double energy = 0;
    int missed = 0;  // changes of other counters since
  };
  using Key = std::pair<std::string, std::optional<int>>;

  std::map<Key, Counter> counters_;
  bool has_energy_ = false;
};

}  // namespace gpuscaler

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
// collection even if the GPU is idle.
class ExporterCollectionDetector {
 public:
  // Returns true if the page was collected after the one before, or if it has no energy counter.
  bool Look(const ExporterExposition& page);

  // Returns true if the last page had an energy counter.
  bool can_tell() const { return can_tell_; }

  // Returns true if other counters have changed several times since the device's did: the
  // exporter repeats an old value.
  bool IsSteady(const ExporterDevice& device) const;

 private:
  struct Counter {
    double energy = 0;
    int missed = 0;  // changes of other counters since
  };
  using Key = std::pair<std::string, std::optional<int>>;

  std::map<Key, Counter> counters_;
  bool can_tell_ = false;
};

}  // namespace gpuscaler

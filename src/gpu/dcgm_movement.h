// Whether a page of dcgm-exporter was measured anew: it carries no times, and the exporter collects
// every 30 s unless it is told otherwise (--collect-interval).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gpu/dcgm_exposition.h"

namespace gpuscaler {

// By the energy counters, which are among the exporter's default ones and grow with each
// collection, of an idle GPU too.
class DcgmMovement {
 public:
  // True: measured since the page before, as far as can be told.
  bool Look(const DcgmExposition& page);

  // The last page had a counter to tell it by.
  bool can_tell() const { return can_tell_; }

  // Others' counters have moved several times since this one did: DCGM repeats what it last knew.
  bool IsSteady(const DcgmDevice& device) const;

 private:
  struct Counter {
    double energy = 0;
    int missed = 0;  // movements of others
  };
  using Key = std::pair<std::string, std::optional<int>>;

  std::map<Key, Counter> counters_;
  bool can_tell_ = false;
};

}  // namespace gpuscaler

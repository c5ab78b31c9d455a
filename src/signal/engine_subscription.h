// Which discovered engines to find and read: engines in pods, without an address in a trigger.
#pragma once

#include <algorithm>
#include <compare>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace gpuscaler {

struct EngineSubscription {
  struct Interest {
    bool histograms = false;   // histograms make up most of an engine's metrics
    absl::Duration look_back;  // how far back decisions look

    // Adds the other's needs.
    void Add(const Interest& other) {
      histograms = histograms || other.histograms;
      look_back = std::max(look_back, other.look_back);
    }
    friend bool operator==(const Interest&, const Interest&) = default;
    friend std::weak_ordering operator<=>(const Interest&, const Interest&) = default;
  };
  std::map<std::string, Interest> namespaces;  // key: the pods' namespace; empty: none wanted

  friend bool operator==(const EngineSubscription&, const EngineSubscription&) = default;
};

}  // namespace gpuscaler

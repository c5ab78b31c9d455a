// Which engines are to be found and read, though nobody named them.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace gpuscaler {

struct EngineSubscription {
  struct Interest {
    bool histograms = false;   // by far the most of what there is to read
    absl::Duration look_back;  // how much of the past decisions look at

    // What both want.
    void Add(const Interest& other) {
      histograms = histograms || other.histograms;
      look_back = std::max(look_back, other.look_back);
    }
    friend bool operator==(const Interest&, const Interest&) = default;
  };
  std::map<std::string, Interest> namespaces;  // of their pods; empty: nobody wants any

  friend bool operator==(const EngineSubscription&, const EngineSubscription&) = default;
};

}  // namespace gpuscaler

// The moments of one node or several, in one order.
#pragma once

#include <span>
#include <vector>

#include "scaling/node_view.h"

namespace gpuscaler {

// Of the nodes that a replica has GPUs on. Points into the views it was made from.
class Walk {
 public:
  // Of one node its own moments; of several those of all, each node at its newest step by then.
  Walk(std::span<const NodeView> views, const std::vector<size_t>& nodes);

  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  std::span<const Moment> moments() const { return moments_; }
  // Of the n-th of `nodes`, one for each moment.
  std::span<const Step> steps(size_t n) const { return steps_[n]; }

 private:
  void Merge(std::span<const NodeView> views, const std::vector<size_t>& nodes);

  std::span<const Moment> moments_;
  std::vector<std::span<const Step>> steps_;
  std::vector<Moment> merged_moments_;
  std::vector<std::vector<Step>> merged_steps_;
};

}  // namespace gpuscaler

// The moments of one node or several, in one order.
#pragma once

#include <span>
#include <vector>

#include "scaling/node_view.h"

namespace gpuscaler {

// Of the nodes that a replica has GPUs on. Points into the views it was made from.
class MergedTimeline {
 public:
  // Of one node its own moments; of several those of all, each node at its newest step by then.
  MergedTimeline(std::span<const NodeView> views, const std::vector<size_t>& nodes);

  MergedTimeline(const MergedTimeline&) = delete;
  MergedTimeline& operator=(const MergedTimeline&) = delete;

  std::span<const SampleTime> ticks() const { return ticks_; }
  // Of the n-th of `nodes`, one for each moment.
  std::span<const Step> steps(size_t n) const { return steps_[n]; }

 private:
  void Merge(std::span<const NodeView> views, const std::vector<size_t>& nodes);

  std::span<const SampleTime> ticks_;
  std::vector<std::span<const Step>> steps_;
  std::vector<SampleTime> merged_ticks_;
  std::vector<std::vector<Step>> merged_steps_;
};

}  // namespace gpuscaler

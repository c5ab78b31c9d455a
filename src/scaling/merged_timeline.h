// The sample times of one or more nodes, merged in order.
#pragma once

#include <span>
#include <vector>

#include "scaling/node_view.h"

namespace gpuscaler {

// The timeline of the nodes on which a replica has GPUs. Points into the views that it was made
// from.
class MergedTimeline {
 public:
  // One node keeps its own ticks. Several nodes get the ticks of all, each with its newest run by
  // then.
  MergedTimeline(std::span<const NodeView> views, const std::vector<size_t>& nodes);

  MergedTimeline(const MergedTimeline&) = delete;
  MergedTimeline& operator=(const MergedTimeline&) = delete;

  std::span<const SampleTime> ticks() const { return ticks_; }
  // Returns the runs of the n-th of `nodes`, one for each tick.
  std::span<const RunAtTick> run_at_tick(size_t n) const { return run_at_tick_[n]; }

 private:
  void Merge(std::span<const NodeView> views, const std::vector<size_t>& nodes);

  std::span<const SampleTime> ticks_;
  std::vector<std::span<const RunAtTick>> run_at_tick_;
  std::vector<SampleTime> merged_ticks_;
  std::vector<std::vector<RunAtTick>> merged_run_at_tick_;
};

}  // namespace gpuscaler

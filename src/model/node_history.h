// The recent readings of a node's GPUs: the input of windows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "model/point_block.h"

namespace gpuscaler {

// The GPUs of a node and their holders. Consecutive instants with equal layouts share one object.
struct NodeLayout {
  // A GpuSample without its readings.
  struct Gpu {
    std::string uuid;
    std::string parent_uuid;
    std::string name;
    int index = 0;
    std::vector<GpuHolder> holders;  // `share` is that of the first instant: see NodeRun

    friend bool operator==(const Gpu&, const Gpu&) = default;
  };
  std::string node;
  std::vector<Gpu> gpus;
  SharedList<Pod> pods;
  Attribution attribution;
};

// A run of equal readings (run-length encoded). Valid as long as its history.
struct NodeRun {
  absl::Time first;
  absl::Time last;
  const PointBlock* block = nullptr;  // never null once in a history
  uint32_t instant = 0;               // within `block`

  const std::shared_ptr<const NodeLayout>& layout() const { return block->layout(); }
  GpuPointView point(size_t gpu) const { return {*block, gpu, instant}; }
  bool has_shares() const { return block->has_shares(); }
  float share(size_t holder) const { return block->Share(holder, instant); }
};

// A holder that has left its GPU.
struct PastHolder {
  std::string gpu_uuid;
  absl::Time held_since;
  absl::Time until;  // the last reading that had it
  SteadyMemory steady_memory;
};

// A layout from before the readings that are kept.
struct PastLayout {
  absl::Time first;  // valid until the next one's, or the first reading that is kept
  std::shared_ptr<const NodeLayout> layout;
};

// Immutable once shared. A node with constant readings takes no more memory as time passes.
struct NodeHistory {
  // Increases with each reading. Results computed from an equal number are still valid.
  int64_t generation = 0;
  std::shared_ptr<const NodeSnapshot> newest;  // never null once there was a reading
  std::vector<NodeRun> runs;                   // oldest first; the last one is that of `newest`
  std::vector<PastHolder> past_holders;        // oldest first
  std::vector<PastLayout> past_layouts;        // oldest first
  // Readings up to this time were dropped. InfinitePast: none was.
  absl::Time dropped_until = absl::InfinitePast();
  // The newest layout with a known attribution, even from beyond the horizon. Null: there was none.
  std::shared_ptr<const NodeLayout> attributed;

  struct Limits {
    absl::Duration horizon;      // data that ended longer before the newest reading is dropped
    absl::Duration join_within;  // equal readings farther apart are separate runs
    // Readings take nearly all of the memory, and may be dropped earlier than the rest.
    absl::Duration readings = absl::InfiniteDuration();
  };
  // Adds a reading. It must be later than all before.
  void Append(NodeSnapshot snapshot, const Limits& limits);

  // Records that a reading at this time equals the newest one.
  void Extend(absl::Time at, const Limits& limits);

  // `newest` may have the time of the first reading of its run.
  absl::Time NewestAt() const { return runs.back().last; }
  const NodeSnapshot& Newest() const { return *newest; }

  // Returns the kept layouts, oldest first, each with the time since which it was valid.
  // Consecutive runs with the same layout count once.
  std::vector<std::pair<absl::Time, const NodeLayout*>> Layouts() const;

 private:
  void Push(absl::Time at, std::shared_ptr<const NodeLayout> layout, const NodePoints& points);
  bool Joins(absl::Time at, const Limits& limits) const;
  void KeepPastHolders(const NodeSnapshot& next);
  void Forget(absl::Time at, const Limits& limits);

  // The blocks of `runs`, oldest first. Only the last one is written, by the writer.
  std::vector<std::shared_ptr<PointBlock>> blocks_;
};

}  // namespace gpuscaler

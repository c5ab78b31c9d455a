// The recent past of a node's GPUs: what windows are computed from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "model/point_block.h"

namespace gpuscaler {

// Who is there, and who holds what: the same over many instants, and shared by them.
struct NodeLayout {
  // One of GpuSample's, without what changes from reading to reading.
  struct Gpu {
    std::string uuid;
    std::string parent_uuid;
    std::string name;
    int index = 0;
    std::vector<GpuHolder> holders;  // `share` is that of the first instant: see StoredPoints

    friend bool operator==(const Gpu&, const Gpu&) = default;
  };
  std::string node;
  std::vector<Gpu> gpus;
  std::vector<Pod> pods;
  Attribution attribution;
};

// Readings that were equal from the first to the last.
struct NodeRun {
  absl::Time first;
  absl::Time last;
  std::shared_ptr<const PointBlock> block;  // never null
  uint32_t instant = 0;                     // of it

  const std::shared_ptr<const NodeLayout>& layout() const { return block->layout(); }
  StoredPoints points() const { return {*block, instant}; }
};

// A holder that has left its GPU.
struct PastHolder {
  std::string gpu_uuid;
  absl::Time held_since;
  absl::Time until;  // the last reading that had it
  SteadyMemory steady_memory;
};

// Who was there before the readings that are kept.
struct PastLayout {
  absl::Time first;  // until the next one's, or the first reading's that is kept
  std::shared_ptr<const NodeLayout> layout;
};

// Immutable once shared. A node whose readings stay as they are costs nothing as time passes.
struct NodeHistory {
  // Counts up with each reading; what was computed from an equal number is still right.
  int64_t generation = 0;
  std::shared_ptr<const NodeSnapshot> newest;  // never null once there was a reading
  std::vector<NodeRun> runs;                   // oldest first; the last one is that of `newest`
  std::vector<PastHolder> past_holders;        // oldest first
  std::vector<PastLayout> past_layouts;        // oldest first
  // No reading until then is kept, though there were some; InfinitePast: none is forgotten.
  absl::Time forgotten_until = absl::InfinitePast();
  // The newest layout whose attribution is known, be it beyond the horizon; null: never was.
  std::shared_ptr<const NodeLayout> attributed;

  struct Limits {
    absl::Duration horizon;      // what ended longer before the newest reading is forgotten
    absl::Duration join_within;  // equal readings farther apart are not one run
    // Readings alone, which take nearly all of the memory, may be forgotten earlier.
    absl::Duration readings = absl::InfiniteDuration();
  };
  // The next reading, later than all before.
  void Append(NodeSnapshot snapshot, const Limits& limits);

  // The newest reading was made again, and found everything as it was.
  void Extend(absl::Time at, const Limits& limits);

  // When the newest reading was made; `newest` may have its first.
  absl::Time NewestAt() const { return runs.back().last; }
  const NodeSnapshot& Newest() const { return *newest; }

 private:
  void Push(absl::Time at, std::shared_ptr<const NodeLayout> layout, NodePoints points);
  bool Joins(absl::Time at, const Limits& limits) const;
  void KeepPastHolders(const NodeSnapshot& next);
  void Forget(absl::Time at, const Limits& limits);

  std::shared_ptr<PointBlock> open_block_;  // of the newest run; the writer's
};

}  // namespace gpuscaler

// The capacity that the engines of a node have shown, kept for a day after they left: a
// workload that sleeps is then not unknown to an aggregator that restarts.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine_group.h"
#include "engine/model_timeline.h"
#include "model/node_snapshot.h"
#include "model/signal_history.h"

namespace gpuscaler {

// At most so many engines of a node, or behind a name, that left; the first go first. A record
// takes about 1.2 KiB of memory (NodeCapacityRecords.ARecordTakesLittle) and 250 bytes on the wire.
inline constexpr size_t kMostCapacityRecords = 256;

// Returns the service and the batch limit of an engine that was last read at `read_at`, without its
// arrivals and readings. Returns null if it has shown neither.
std::shared_ptr<const SignalSeries> CapacityRecordOf(const SignalSeries& engine,
                                                     absl::Time read_at);

// All models of an engine count together. Not thread-safe.
class NodeCapacityRecords {
 public:
  // Adds a reading. Returns what the engine has shown so far: for its first reading within 10 s if
  // that has changed, and once a minute otherwise. Returns null if no record is due.
  std::shared_ptr<const SignalSeries> Take(const EnginePlace& place, const EngineUpdate& update,
                                           const NodeSnapshot& node);

  // The engines of these namespaces that are not among `places` have left.
  void List(const std::vector<std::string>& namespaces, const std::vector<EnginePlace>& places);

  // Those that left and showed something, the first that left first.
  CapacityRecords Left(absl::Time now);

 private:
  struct Present {
    ModelTimeline timeline;
    SignalSeries series;  // its batch and demand are those of the newest record
    absl::Time recorded_at = absl::InfinitePast();
    absl::Time read_at = absl::InfinitePast();
  };

  static std::shared_ptr<const SignalSeries> RecordOf(const Present& engine, absl::Time at);

  std::map<EnginePlace, Present> present_;
  CapacityRecords left_;
};

}  // namespace gpuscaler

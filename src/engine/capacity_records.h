// The measured capacity of a node's engines, kept for a day after they leave. It lets a restarted
// aggregator size a workload that is scaled to zero.
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

// Maximum number of departed engines per node, or per DNS name. The oldest are dropped. A record
// takes about 1.2 KiB of memory (NodeCapacityRecords.ARecordTakesLittle) and 250 bytes on the wire.
inline constexpr size_t kMaxCapacityRecords = 256;

// Returns the service rates and the batch limit of an engine that was last read at `read_at`,
// without its arrivals and readings. Returns null if it has neither.
std::shared_ptr<const SignalSeries> CapacityRecordOf(const SignalSeries& engine,
                                                     absl::Time read_at);

// All models of an engine are added. Not thread-safe.
class NodeCapacityRecords {
 public:
  // Adds a reading. Returns the engine's record if one is due, else null: at most every 10 s if it
  // changed, and once a minute otherwise.
  std::shared_ptr<const SignalSeries> Take(const EngineAddress& place, const EngineUpdate& update,
                                           const NodeSnapshot& node);

  // Engines of these namespaces that are not among `places` have left.
  void List(const std::vector<std::string>& namespaces, const std::vector<EngineAddress>& places);

  // Returns the records of engines that left within the last day, oldest departure first.
  CapacityRecords Left(absl::Time now);

 private:
  struct Present {
    ModelTimeline timeline;
    SignalSeries series;  // with the batch and the demand of the newest record
    absl::Time recorded_at = absl::InfinitePast();
    absl::Time read_at = absl::InfinitePast();
  };

  static std::shared_ptr<const SignalSeries> RecordOf(const Present& engine, absl::Time at);

  std::map<EngineAddress, Present> present_;
  CapacityRecords left_;
};

}  // namespace gpuscaler

// The measured capacity of a node's engines, kept for a day after the last reading. It lets a
// restarted aggregator size a workload that is scaled to zero.
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
// takes about 1.2 KiB of memory (NodeCapacityRecordsTest.RecordTakesLittleMemory) and 250 bytes on
// the wire.
inline constexpr size_t kMaxCapacityRecords = 256;

// Returns the service rates and the batch limit of an engine that was last read at `read_at`,
// without its arrivals and readings. Returns null if it has neither.
std::shared_ptr<const SignalSeries> CapacityRecordOf(const SignalSeries& engine,
                                                     absl::Time read_at);

// A record has the sum of the engine's models. Not thread-safe.
class NodeCapacityRecords {
 public:
  // Adds a reading. Returns the engine's record if it changed, at most every 10 s, or if the last
  // one is a minute old. Otherwise null.
  std::shared_ptr<const SignalSeries> AddReading(const EngineAddress& engine_address,
                                                 const EngineUpdate& update,
                                                 const NodeSnapshot& node);

  // Engines of these namespaces that are not among `engines` have departed.
  void SetEngines(const std::set<std::string>& namespaces, const std::set<EngineAddress>& engines);

  // The oldest departure is first. Deletes the records of engines last read more than
  // kCapacityRecordsKept ago.
  CapacityRecords DepartedRecords(absl::Time now);

 private:
  struct Present {
    ModelTimeline timeline;
    SignalSeries series;  // with the batch and the demand of the newest record
    absl::Time recorded_at = absl::InfinitePast();
    absl::Time read_at = absl::InfinitePast();
  };

  static std::shared_ptr<const SignalSeries> RecordOf(const Present& engine);

  std::map<EngineAddress, Present> present_;
  CapacityRecords departed_;
};

}  // namespace gpuscaler

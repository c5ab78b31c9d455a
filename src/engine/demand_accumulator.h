// Accumulates an engine's demand and capacity from its readings.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "absl/time/time.h"
#include "engine/service_accumulator.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// One model, or the sum of several. Not thread-safe.
class DemandAccumulator {
 public:
  // `reading` must be later than all before. A reading without requests or counters is skipped; the
  // next one continues from the last complete one.
  void Take(const ServiceReading& reading);

  // Must be called before the first reading of another model. Drops the time per token and the
  // tokens per answer; arrivals still count.
  void BeginAnotherModel();

  // Returns nullopt before the first complete reading.
  std::optional<EngineDemand> Sums() const;

  size_t Bytes() const { return bins_.size() * sizeof(RequestBin); }  // approximate

 private:
  void Begin(const ServiceReading& first);
  void AddGrowth(const ServiceReading& older, const ServiceReading& newer);
  void AddService(const ServiceReading& older, const ServiceReading& newer);
  RequestBin& BinAt(absl::Time at);
  void DropOldest(absl::Time now);

  std::optional<ServiceReading> newest_;  // last complete reading
  bool counters_reset_ = false;           // the process or model changed since then
  absl::Time first_at_;
  absl::Time cold_until_ = absl::InfinitePast();
  bool began_here_ = false;
  std::deque<RequestBin> bins_;
  ServiceAccumulator service_;
};

}  // namespace gpuscaler

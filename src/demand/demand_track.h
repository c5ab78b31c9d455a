// Adds up what an engine's readings show of its demand and of its capacity, as they come.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "absl/time/time.h"
#include "demand/service_track.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// One reading of an engine. An empty field was not reported.
struct ServiceReading {
  absl::Time at;
  // Its counters continue those of the reading before.
  bool goes_on = true;
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;
  std::optional<double> requests_done;
  std::optional<double> generation_tokens;  // also of answers that are not finished
  // Counted when an answer is finished. Agents of earlier versions do not send them; then the
  // tokens of an answer are not known.
  std::optional<double> answers;
  std::optional<double> answer_tokens;
  std::optional<double> counters_began;  // seconds since the epoch
};

// One model, or several added up. Not thread-safe.
class DemandTrack {
 public:
  // Must be later than all before. A reading without requests or counters is passed over; the next
  // one continues from the last that counted.
  void Take(const ServiceReading& reading);

  // The next reading is of another model: what was learnt of the time per token and of the tokens
  // per answer is dropped. Requests that arrived still count.
  void BeginAnotherModel();

  // Empty: no reading counted yet.
  std::optional<EngineDemand> Sums() const;

  size_t Bytes() const { return bins_.size() * sizeof(RequestBin); }  // about

 private:
  void Begin(const ServiceReading& first);
  void AddGrowth(const ServiceReading& older, const ServiceReading& newer);
  void AddService(const ServiceReading& older, const ServiceReading& newer);
  RequestBin& BinAt(absl::Time at);
  void DropOldest(absl::Time now);

  std::optional<ServiceReading> newest_;  // that counts
  bool began_anew_ = false;               // since then
  absl::Time first_at_;
  absl::Time cold_until_ = absl::InfinitePast();
  bool began_here_ = false;
  std::deque<RequestBin> bins_;
  ServiceTrack service_;
};

}  // namespace gpuscaler

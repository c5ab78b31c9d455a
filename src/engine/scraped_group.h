// A number that one metrics endpoint exports at each address of its DNS name. The values are added,
// because each address is another process.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/counter_window.h"
#include "engine/demand_accumulator.h"
#include "engine/number_timeline.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

inline constexpr size_t kMaxPages = 100;  // per source

// Keeps the past of the sum, but not of its parts, when addresses leave. Not thread-safe.
class ScrapedGroup {
 public:
  // `is_rate`: as NumberTimeline's.
  explicit ScrapedGroup(bool is_rate) : is_rate_(is_rate), sum_(is_rate) {}

  // Replaces the addresses. Returns false if nothing changed. An error, including more than
  // kMaxPages addresses, becomes the gap of the sum, and the addresses stay.
  bool SetAddresses(const absl::StatusOr<std::vector<std::string>>& addresses);

  // Adds a reading, later than all before. Returns false if it is dropped, because `address` is not
  // listed. There is a sum if each address has been read and its newest reading did not fail:
  // unknown is never zero. What a new address counted before is not growth.
  bool AddSample(const std::string& address, const absl::StatusOr<CounterPoint>& point);

  // Readings before `before`, which no query looks back on, may be deleted.
  void Forget(absl::Time before);

  size_t size() const { return pages_.size(); }
  size_t Bytes() const;  // approximate memory use

  // The series is that of the sum, with its parts and without a name. For a demand query, a
  // gauge's sum counts as waiting requests (SignalSeries::demand), and its growth as arrivals.
  // Requests of an address that comes or leaves are not arrivals.
  SignalSeries Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap) const;

 private:
  struct AddressState {
    explicit AddressState(bool is_rate) : observed(is_rate) {}

    std::optional<double> newest;
    absl::Status failure;     // the newest reading's
    NumberTimeline observed;  // only for the explanation
  };

  void AddUp(absl::Time at);
  // Adds the sum of a gauge to `held_`.
  void AddHeld(absl::Time at, double sum);
  std::string Failures() const;

  const bool is_rate_;
  std::map<std::string, AddressState> pages_;
  absl::Status listed_;
  double grown_ = 0;  // total growth of a rate so far
  NumberTimeline sum_;
  DemandAccumulator held_;  // the sum of a gauge as requests in flight
  absl::Time held_at_ = absl::InfinitePast();
  // Gauges of addresses that left, minus gauges of addresses that came. Initially above 0: the
  // arrival time of the first reading's requests is unknown.
  double moved_requests_ = kInitiallyMoved;
  static constexpr double kInitiallyMoved = 1;
};

}  // namespace gpuscaler

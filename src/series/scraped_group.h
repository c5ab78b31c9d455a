// A number that one page has at each address of its name: added up, as each is another process,
// which knows of its own part alone.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "demand/demand_track.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"
#include "series/counter_window.h"
#include "series/number_timeline.h"

namespace gpuscaler {

inline constexpr size_t kMostPages = 100;  // addresses of a source

// The sum is kept, and not its parts: of what has gone the past stays. Not thread-safe.
class ScrapedGroup {
 public:
  // As NumberTimeline's.
  explicit ScrapedGroup(bool is_rate) : is_rate_(is_rate), sum_(is_rate) {}

  // All addresses that there are. An error, as more than kMostPages are: where they are cannot be
  // told, or they may not be read; those that are known stay. False: nothing is new.
  bool List(const absl::StatusOr<std::vector<std::string>>& addresses);

  // Later than all before. Of one that is not listed it is dropped. There is a sum whenever each of
  // them has been read, and none has failed since: unknown is never zero. What one that is new had
  // counted before is no growth. False: it was dropped.
  bool Take(const std::string& address, const absl::StatusOr<CounterPoint>& point);

  // Readings before then, which no question looks back on, may go.
  void Forget(absl::Time before);

  size_t size() const { return pages_.size(); }
  size_t Bytes() const;  // of memory, about

  // Returns the series of the sum, with its parts and without a name. If the question is about
  // demand, the sum of a gauge counts as requests that wait (SignalSeries::demand): its growth is
  // arrivals. An address that comes or leaves with requests changes no arrivals.
  SignalSeries Answer(const EngineQuestion& question, absl::Time now,
                      absl::Duration longest_gap) const;

 private:
  struct ReadPage {
    explicit ReadPage(bool is_rate) : observed(is_rate) {}

    std::optional<double> newest;
    absl::Status failure;     // of the newest reading
    NumberTimeline observed;  // for people alone
  };

  void AddUp(absl::Time at);
  // Adds the sum of a gauge to `held_`.
  void Follow(absl::Time at, double sum);
  std::string Failures() const;

  const bool is_rate_;
  std::map<std::string, ReadPage> pages_;
  absl::Status listed_;
  double grown_ = 0;  // of a rate, all of them so far
  NumberTimeline sum_;
  DemandTrack held_;  // the sum of a gauge as requests in flight
  absl::Time held_at_ = absl::InfinitePast();
  // Gauges of addresses that left, less those that came. Above 0 at first: the requests of the
  // first reading arrived at an unknown time.
  double moved_ = kMovedAtFirst;
  static constexpr double kMovedAtFirst = 1;
};

}  // namespace gpuscaler

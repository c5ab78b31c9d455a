// The total growth of the counters that a selector matches, each followed by itself. The growth of
// their sum would mistake a series that is missing once for a restart, and count all of its past
// when it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/counter_window.h"
#include "page/series_queries.h"

namespace gpuscaler {

inline constexpr size_t kMaxSeries = 1000;  // per exposition, and kept at 64 bytes each

// Takes the expositions of one address in order. Not thread-safe.
class SeriesGrowth : public SeriesConsumer {
 public:
  // A series that was missing for longer than `max_gap` counts as new. `selector` is its text,
  // for errors.
  SeriesGrowth(std::string selector, absl::Duration max_gap)
      : selector_(std::move(selector)), longest_gap_(max_gap) {}

  void Begin() override;
  void Consume(const ExpositionSample& sample) override;

  // Returns the total growth of all series since the first exposition, with those taken since
  // Begin(). It never falls, and its growth over a window equals Prometheus' increase(). A new
  // series counts from its first value, since its earlier growth may be of any time. A series that
  // is lower than before has restarted, so its whole value is growth. A series that was missing
  // counts its growth when it returns. If absent means 0, a series that is new after an exposition
  // without any counts its whole value: the first request is growth.
  //
  // FAILED_PRECONDITION: more than kMaxSeries series, or values that are no counters.
  // INVALID_ARGUMENT: a duplicate series. The exposition is then ignored, as it is if this is not
  // called.
  absl::StatusOr<CounterPoint> GrownBy(absl::Time at);

 private:
  struct Seen {
    absl::Time at;
    double value = 0;
  };
  using Key = uint64_t;  // hash of the labels; series with equal hashes are duplicates

  absl::Status CheckPage();
  double GrowthSinceSeen(Key key, absl::Time at, double value) const;
  void Forget(absl::Time now);

  const std::string selector_;
  const absl::Duration longest_gap_;
  std::vector<std::pair<Key, double>> on_page_;
  std::map<Key, Seen> seen_;
  absl::Time none_at_ = absl::InfinitePast();  // last exposition without series, if absent is 0
  double total_ = 0;
};

}  // namespace gpuscaler

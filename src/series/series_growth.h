// How far the counters that a selector picks have grown, each by itself: the growth of their sum
// would take a series that is missing from one page for a restart, and count its whole past when it
// is back.
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
#include "page/series_picks.h"
#include "series/counter_window.h"

namespace gpuscaler {

inline constexpr size_t kMostSeries = 1000;  // of a page, and kept: 64 bytes each

// Of the pages of one address, in the order in which they were read. Not thread-safe.
class SeriesGrowth : public SeriesTaker {
 public:
  // A series that was not seen for longer than `longest_gap` is a new one. `selector` by its text,
  // for people.
  SeriesGrowth(std::string selector, absl::Duration longest_gap)
      : selector_(std::move(selector)), longest_gap_(longest_gap) {}

  void Begin() override;
  void Take(const ExpositionSample& sample) override;

  // What all of them together have grown by since the first page, with the series that were taken
  // since Begin(): never falls, and its GrowthOf()
  // is what Prometheus' increase() has. So a new series counts from what it has when it is first
  // seen, as what it counted before may be of any time; one that is lower than before has counted
  // all that it has since then; and of one that was missing the growth meanwhile counts when it is
  // back. Where a page without a series says 0, one that is new after such a page has counted all
  // that it has since then: the first request is growth.
  //
  // FAILED_PRECONDITION: there are more than kMostSeries, or they do not count. INVALID_ARGUMENT:
  // one is there twice. The page is then as one that was never read, as it is where this is not
  // called.
  absl::StatusOr<CounterPoint> GrownBy(absl::Time at);

 private:
  struct Seen {
    absl::Time at;
    double value = 0;
  };
  using Key = uint64_t;  // hash of the labels: of two with the same one, the sum is followed

  absl::Status CheckPage();
  double GrowthSinceSeen(Key key, absl::Time at, double value) const;
  void Forget(absl::Time now);

  const std::string selector_;
  const absl::Duration longest_gap_;
  std::vector<std::pair<Key, double>> on_page_;
  std::map<Key, Seen> seen_;
  absl::Time none_at_ = absl::InfinitePast();  // the last page without a series, where that is 0
  double total_ = 0;
};

}  // namespace gpuscaler

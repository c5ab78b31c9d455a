// How long a GPU's memory has stood still: the mark of preallocated VRAM (DESIGN 2).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// A time during which the memory was above 50 % and moved by less than 1 point.
struct SteadyRun {
  absl::Time from = absl::InfinitePast();  // InfinitePast: none
  absl::Time until = absl::InfinitePast();

  absl::Duration Length() const { return until - from; }
  // The part of it behind `at`.
  absl::Duration After(absl::Time at) const;

  friend bool operator==(const SteadyRun&, const SteadyRun&) = default;
};

// Of one holder, since its memory was last at 50 % or below.
class SteadyMemory {
 public:
  SteadyMemory() = default;

  // All that it remembers, for another process to go on from.
  struct Parts {
    absl::Time high_since = absl::InfinitePast();  // InfinitePast: it is at 50 % or below
    SteadyRun current;
    std::vector<SteadyRun> past;
    double lowest_percent = 0;  // of the current run
    double highest_percent = 0;

    friend bool operator==(const Parts&, const Parts&) = default;
  };
  explicit SteadyMemory(Parts parts)
      : high_since_(parts.high_since),
        current_(parts.current),
        past_(std::move(parts.past)),
        lowest_percent_(parts.lowest_percent),
        highest_percent_(parts.highest_percent) {}
  Parts parts() const { return {high_since_, current_, past_, lowest_percent_, highest_percent_}; }
  size_t past_runs() const { return past_.size(); }

  // A reading; those that failed are bridged by leaving them out.
  void Add(absl::Time at, double used_percent);

  // The newest reading was made again until then, and was the same.
  void Hold(absl::Time until);

  // It stood for `window`, the time before `warm_at` not counted: now, or once and not fallen
  // since.
  bool Stood(absl::Duration window, absl::Time warm_at) const;

  // When it first had stood for `window`, as far as is remembered; InfiniteFuture: it has not.
  absl::Time StoodAt(absl::Duration window, absl::Time warm_at) const;

  // It has not been above 50 % for `window` yet, the time before `warm_at` not counted: too early
  // to tell whether it stands.
  bool IsNotEvaluated(absl::Duration window, absl::Time warm_at) const;

 private:
  absl::Time high_since_ = absl::InfinitePast();  // InfinitePast: it is at 50 % or below
  SteadyRun current_;
  // Those that no later one, nor the current one, equals in length: oldest and longest first. Of
  // all that ended behind any instant the longest is then among them.
  std::vector<SteadyRun> past_;
  double lowest_percent_ = 0;  // of the current run
  double highest_percent_ = 0;
};

}  // namespace gpuscaler

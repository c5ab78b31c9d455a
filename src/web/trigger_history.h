// The answers of the last day for each trigger, and the newest explanations. Kept in memory only:
// it starts empty with the process.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "explain.pb.h"
#include "serve/live_trigger.h"
#include "web/explanation_ring.h"
#include "web/history_point.h"
#include "web/point_log.h"

namespace gpuscaler {

// Names one trigger, as LiveTrigger does.
struct TriggerKey {
  std::string namespace_name;
  std::string scaled_object;
  std::string trigger;

  friend auto operator<=>(const TriggerKey&, const TriggerKey&) = default;
};
TriggerKey KeyOf(const LiveTrigger& live);

struct TriggerSeries {
  absl::Time since;  // the oldest point that is kept
  // Each kHistoryStep from `from` to `to`. A point without a record has only its time.
  std::vector<HistoryPoint> points;
};

struct PastExplanation {
  absl::Time at;
  gpuscaler::v1::Explanation explanation;  // as the Explain RPC returned it then
};

// Thread-safe. All times must be those of one Clock, which never goes back: a correction of the
// system's clock moves no point, drops none and delays none.
class TriggerHistory {
 public:
  struct Options {
    absl::Duration keep = absl::Hours(24);
    // If the points of all triggers take more bytes, the oldest hour is dropped. While only the
    // present hour is kept, a new trigger is recorded only if all points take at most three
    // quarters of this: a client that invents triggers must not push out those of others.
    size_t point_bytes = size_t{14} << 20;
    size_t explanation_bytes = size_t{24} << 20;
  };
  // The history begins at `started_at`.
  TriggerHistory(const Options& options, absl::Time started_at);

  // Records `point` for the step that its time is in. Ignores it unless that step is later than the
  // trigger's newest one.
  void Record(const TriggerKey& key, const HistoryPoint& point);

  // Keeps the explanation if anything but ages differs from the trigger's newest one, or if that is
  // 5 minutes old. Requires that a point of the trigger is recorded, and that `at` is not earlier
  // than before.
  void RecordExplanation(const TriggerKey& key, absl::Time at,
                         const gpuscaler::v1::Explanation& explanation);

  // Drops what is older than Options::keep, points by the hour.
  void Expire(absl::Time now);

  // Nothing earlier was recorded for any trigger.
  absl::Time started_at() const { return started_at_; }
  absl::Duration keep() const { return options_.keep; }

  // Returns the triggers with a kept point, sorted.
  std::vector<TriggerKey> Triggers() const;

  // Returns NOT_FOUND if no point of the trigger is kept. Leaves out points that are
  // farther from the trigger's newest one than Options::keep and two hours.
  absl::StatusOr<TriggerSeries> Read(const TriggerKey& key, absl::Time from, absl::Time to) const;

  // Returns the newest explanation at or before `at`. Returns NOT_FOUND if there never was one, and
  // OUT_OF_RANGE if it is no longer kept. The text names the oldest one that is kept.
  absl::StatusOr<PastExplanation> ExplanationAt(const TriggerKey& key, absl::Time at) const;

  // Returns the times of the kept explanations from `from` to `to`, oldest first.
  std::vector<absl::Time> ExplanationTimes(const TriggerKey& key, absl::Time from,
                                           absl::Time to) const;

  size_t bytes() const;  // on the heap

 private:
  struct Recorded {
    PointLog points;
    ExplanationRing::Chain explanations;
    absl::Time first_explained_at = absl::InfiniteFuture();
    absl::Time explained_at = absl::InfinitePast();
    size_t fingerprint = 0;  // that of the newest explanation, without ages
  };

  using TriggerMap = std::map<TriggerKey, Recorded>;

  static size_t BytesOf(const TriggerKey& key, const Recorded& recorded);
  // Drops the oldest hours, or the entry if there is only the present hour.
  void MakeRoom(TriggerMap::iterator entry, absl::Time at, bool is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropBefore(absl::Time time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const absl::Time started_at_;
  mutable Mutex mutex_;
  TriggerMap triggers_ ABSL_GUARDED_BY(mutex_);
  size_t point_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // keys included
  // The newest step that had no room for a new trigger.
  absl::Time full_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  ExplanationRing ring_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

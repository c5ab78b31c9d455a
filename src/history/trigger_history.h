// The answers of the last day for each trigger, and the newest explanations. Kept in memory only:
// it starts empty with the process.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "explain.pb.h"
#include "history/explanation_ring.h"
#include "history/history_point.h"
#include "history/point_log.h"

namespace gpuscaler {

// Names one trigger, as LiveTrigger does.
struct TriggerKey {
  std::string namespace_name;
  std::string scaled_object;
  std::string trigger;

  friend auto operator<=>(const TriggerKey&, const TriggerKey&) = default;
};

struct TriggerSeries {
  // Time of the first point that was ever recorded and of which the record is kept.
  absl::Time since;
  // Every kHistoryStep from the first instant at or after `from` to the last one before or at `to`.
  // A point without a record has only its time.
  std::vector<HistoryPoint> points;
};

struct PastExplanation {
  absl::Time at;
  gpuscaler::v1::Explanation explanation;
};

// Thread-safe.
class TriggerHistory {
 public:
  struct Options {
    absl::Duration keep = absl::Hours(24);
    // The oldest hour of all triggers is dropped first if their points take more.
    size_t point_bytes = size_t{14} << 20;
    size_t explanation_bytes = size_t{24} << 20;
    size_t triggers = 10'000;  // further ones are not recorded
  };
  // `started_at`: no older point exists.
  TriggerHistory(const Options& options, absl::Time started_at);

  // Records `point` at the kHistoryStep that it is in. A second point of that step is dropped.
  void Record(const TriggerKey& key, const HistoryPoint& point);

  // Keeps the explanation if anything but ages differs from the trigger's newest one, or if that is
  // 5 minutes old.
  void Explain(const TriggerKey& key, absl::Time at, const gpuscaler::v1::Explanation& explanation);

  // Drops what is older than Options::keep.
  void Expire(absl::Time now);

  // Nothing before this time was recorded, for any trigger.
  absl::Time started_at() const { return started_at_; }
  absl::Duration keep() const { return options_.keep; }

  // Returns the triggers with a kept point, sorted.
  std::vector<TriggerKey> Triggers() const;

  // Returns NOT_FOUND if no point of the trigger is kept.
  absl::StatusOr<TriggerSeries> Read(const TriggerKey& key, absl::Time from, absl::Time to) const;

  // Returns the newest explanation at or before `at`. Returns NOT_FOUND if there never was one, and
  // OUT_OF_RANGE if it is no longer kept; the text has the time of the oldest that is kept.
  absl::StatusOr<PastExplanation> ExplanationAt(const TriggerKey& key, absl::Time at) const;

  // Returns the times of the kept explanations from `from` to `to`, oldest first.
  std::vector<absl::Time> ExplanationTimes(const TriggerKey& key, absl::Time from,
                                           absl::Time to) const;

  // Returns the bytes that points and explanations hold.
  size_t bytes() const;

 private:
  struct Recorded {
    PointLog points;
    ExplanationRing::Newest explanations;
  };

  const Options options_;
  const absl::Time started_at_;
  mutable Mutex mutex_;
  std::map<TriggerKey, Recorded> triggers_ ABSL_GUARDED_BY(mutex_);
  size_t point_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  ExplanationRing ring_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

// A trigger's answer at one instant, in numbers.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace gpuscaler {

// The distance of two points.
inline constexpr absl::Duration kHistoryStep = absl::Seconds(15);

// An empty number is unknown. It is never 0 instead. Fractions have three decimals.
struct HistoryPoint {
  absl::Time at;  // a multiple of kHistoryStep since the epoch
  // The answer's code. Empty: there is no record, because no client requested the trigger.
  std::optional<absl::StatusCode> code;
  std::optional<double> value;
  std::optional<double> target;
  // Counted: unreadable ones are included, starting ones are not. Empty, as the next three are, if
  // the metric belongs to no replica: nothing counts them.
  std::optional<double> replicas;
  std::optional<double> starting;
  std::optional<double> unreadable;
  std::optional<double> terminating;
  std::optional<double> active;    // 1 or 0
  std::optional<double> limit;     // batch limit that was learnt
  std::optional<double> capacity;  // requests per second of one replica, the mean over models
  std::optional<double> demand;    // in replicas
  std::optional<double> replaced;  // replicas that replace others (known_replicas.h)
  // Held by all replicas, starting and terminating ones too. Empty if no GPU of theirs is known.
  std::optional<double> gpus;

  friend bool operator==(const HistoryPoint&, const HistoryPoint&) = default;
};

}  // namespace gpuscaler

// Logs when the newest snapshot becomes stale, and when there is a fresh one again.
#pragma once

#include "absl/time/time.h"
#include "base/clock.h"
#include "model/fleet_reader.h"

namespace gpuscaler {

// Not thread-safe.
class SnapshotLog {
 public:
  // Both references must outlive it.
  SnapshotLog(absl::Duration stale_after, const Clock& clock, const FleetReader& fleets)
      : stale_after_(stale_after), clock_(clock), fleets_(fleets), began_(clock.Now()) {}

  // Logs a change since the last call. A missing first snapshot counts as stale only after
  // `stale_after`.
  void LogChange();

 private:
  void LogStale(const absl::Status& why) const;

  const absl::Duration stale_after_;
  const Clock& clock_;
  const FleetReader& fleets_;
  const absl::Time began_;
  bool fresh_ = true;
};

}  // namespace gpuscaler

// Says in the log when the newest snapshot turns stale, and when there is a fresh one again.
#pragma once

#include "absl/time/time.h"
#include "base/clock.h"
#include "store/fleet_reader.h"

namespace gpuscaler {

// One thread's.
class SnapshotLog {
 public:
  // Both references outlive it.
  SnapshotLog(absl::Duration stale_after, const Clock& clock, const FleetReader& fleets)
      : stale_after_(stale_after), clock_(clock), fleets_(fleets), began_(clock.Now()) {}

  // Logs a change since the last look; a first snapshot has `stale_after` to come.
  void Look();

 private:
  void SayStale(const absl::Status& why) const;

  const absl::Duration stale_after_;
  const Clock& clock_;
  const FleetReader& fleets_;
  const absl::Time began_;
  bool fresh_ = true;
};

}  // namespace gpuscaler

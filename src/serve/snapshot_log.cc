#include "serve/snapshot_log.h"

#include "base/log.h"

namespace gpuscaler {

void SnapshotLog::LogChange() {
  const absl::Status status = fleets_.Check();
  if (status.ok() == fresh_) return;
  if (!status.ok() && clock_.Now() - began_ <= stale_after_) return;
  fresh_ = status.ok();
  if (!fresh_) return LogStale(status);
  LogInfo("snapshot_fresh");
}

void SnapshotLog::LogStale(const absl::Status& why) const {
  const absl::Time newest = fleets_.NewestAt();
  const absl::Time since = newest == absl::InfinitePast() ? began_ : newest;
  LogWarn("snapshot_stale", {{"age_seconds", absl::ToDoubleSeconds(clock_.Now() - since)},
                             {"stale_after_seconds", absl::ToDoubleSeconds(stale_after_)},
                             {"why", std::string(why.message())}});
}

}  // namespace gpuscaler

#include "model/snapshot_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"

namespace gpuscaler {

SnapshotStore::SnapshotStore(const Clock& clock, absl::Duration stale_after, absl::Duration horizon)
    : clock_(clock),
      stale_after_(stale_after),
      limits_{.horizon = horizon, .join_within = stale_after} {}

void SnapshotStore::Put(NodeSnapshot snapshot) {
  const History before = Newest();
  auto next =
      before == nullptr ? std::make_shared<NodeHistory>() : std::make_shared<NodeHistory>(*before);
  next->Append(std::move(snapshot), limits_);
  auto fleet = std::make_shared<const FleetHistory>(FleetOfOne(next));

  MutexLock lock(mutex_);
  history_ = std::move(next);
  fleet_ = std::move(fleet);
  last_error_ = absl::OkStatus();
  changed_.NotifyAll();
}

void SnapshotStore::PutError(const absl::Status& error) {
  MutexLock lock(mutex_);
  last_error_ = error;
}

absl::Status SnapshotStore::CheckFresh() const {
  const std::string because = last_error_.ok() ? "" : absl::StrCat(": ", last_error_.message());
  if (history_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("no GPU snapshot yet", because));
  }
  const absl::Duration age = clock_.Now() - history_->NewestAt();
  if (age <= stale_after_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("GPU snapshot is ", AgeText(age),
                                             " old, --stale-after=", DurationText(stale_after_),
                                             because));
}

absl::StatusOr<SnapshotStore::History> SnapshotStore::Fresh() const {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckFresh(); !status.ok()) return status;
  return history_;
}

absl::StatusOr<FleetReader::FleetPtr> SnapshotStore::NodesFor(const PodInterest&) const {
  return AllNodes();
}

absl::StatusOr<FleetReader::FleetPtr> SnapshotStore::AllNodes() const {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckFresh(); !status.ok()) return status;
  return fleet_;
}

absl::Status SnapshotStore::Check() const {
  MutexLock lock(mutex_);
  return CheckFresh();
}

absl::Time SnapshotStore::NewestAt() const {
  MutexLock lock(mutex_);
  return history_ == nullptr ? absl::InfinitePast() : history_->NewestAt();
}

FleetReader::Changes SnapshotStore::ChangedSince(int64_t generation) const {
  MutexLock lock(mutex_);
  return {.generation = history_ == nullptr ? 0 : history_->generation,
          .affects_all = HasNewer(generation),
          .pods = {}};
}

bool SnapshotStore::IsOwnerKnown(const PodInterest&) const { return false; }

int64_t SnapshotStore::WaitForGeneration(int64_t generation, absl::Duration timeout) const {
  const History newest = WaitForNewer(generation, timeout);
  return newest == nullptr ? 0 : newest->generation;
}

SnapshotStore::History SnapshotStore::Newest() const {
  MutexLock lock(mutex_);
  return history_;
}

bool SnapshotStore::HasNewer(int64_t generation) const {
  return history_ != nullptr && history_->generation > generation;
}

SnapshotStore::History SnapshotStore::WaitForNewer(int64_t generation,
                                                   absl::Duration timeout) const {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + timeout;
  MutexLock lock(mutex_);
  while (!closed_ && !HasNewer(generation) && real.Now() < deadline) {
    changed_.WaitFor(mutex_, deadline - real.Now());
  }
  return history_;
}

void SnapshotStore::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

}  // namespace gpuscaler

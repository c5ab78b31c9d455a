#include "store/snapshot_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"

namespace gpuscaler {

SnapshotStore::SnapshotStore(const Clock& clock, absl::Duration stale_after, absl::Duration horizon)
    : clock_(clock), stale_after_(stale_after), horizon_(horizon) {}

void SnapshotStore::Put(NodeSnapshot snapshot) {
  const absl::Time oldest = snapshot.taken_at - horizon_;
  const History before = Newest();
  auto next = std::make_shared<NodeHistory>();
  next->generation = before == nullptr ? 1 : before->generation + 1;
  if (before != nullptr) {
    const auto first_kept = std::ranges::find_if(
        before->snapshots, [oldest](const auto& kept) { return kept->taken_at >= oldest; });
    next->snapshots.reserve(before->snapshots.size() + 1);
    next->snapshots.assign(first_kept, before->snapshots.end());
  }
  next->snapshots.push_back(std::make_shared<const NodeSnapshot>(std::move(snapshot)));

  MutexLock lock(mutex_);
  history_ = std::move(next);
  last_error_ = absl::OkStatus();
  changed_.NotifyAll();
}

void SnapshotStore::PutError(const absl::Status& error) {
  MutexLock lock(mutex_);
  last_error_ = error;
}

absl::StatusOr<SnapshotStore::History> SnapshotStore::Fresh() const {
  MutexLock lock(mutex_);
  const std::string because = last_error_.ok() ? "" : absl::StrCat(": ", last_error_.message());
  if (history_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("no GPU snapshot yet", because));
  }
  const absl::Duration age = clock_.Now() - history_->Newest().taken_at;
  if (age <= stale_after_) return history_;
  return absl::UnavailableError(absl::StrCat("GPU snapshot is ", AgeText(age),
                                             " old, --stale-after=", DurationText(stale_after_),
                                             because));
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

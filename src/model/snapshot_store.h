// The recent readings of this node: one writer (the sampler), many readers.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "model/fleet_reader.h"
#include "model/node_history.h"

namespace gpuscaler {

// Thread-safe. Readers get an immutable history and hold no lock while they use it.
//
//   const auto history = store.Fresh();
//   if (!history.ok()) return history.status();
//   (*history)->Newest()  // a NodeSnapshot
class SnapshotStore : public FleetReader {
 public:
  using History = std::shared_ptr<const NodeHistory>;

  // Keeps the readings of the last `horizon`. `clock` must outlive the store.
  SnapshotStore(const Clock& clock, absl::Duration stale_after, absl::Duration horizon);

  void Put(NodeSnapshot snapshot);

  // Sets why there is no newer snapshot: Fresh() returns the reason once the last one is stale.
  void PutError(const absl::Status& error);

  // Returns UNAVAILABLE before the first Put and once the newest snapshot is older than
  // stale_after: the HPA then holds, whereas a made-up 0 would scale in a busy workload.
  absl::StatusOr<History> Fresh() const;

  // The history may be of any age. Null before the first Put().
  History Newest() const;

  // Blocks until there is a snapshot newer than `generation` (0: any), `timeout` of real time has
  // passed, or Close() was called. Returns the newest history, or null before the first Put.
  History WaitForNewer(int64_t generation, absl::Duration timeout) const;

  // Implements FleetReader for this node alone. Errors are those of Fresh().
  absl::StatusOr<FleetPtr> NodesFor(const PodInterest& wanted) const override;
  absl::StatusOr<FleetPtr> AllNodes() const override;
  absl::Status Check() const override;
  absl::Time NewestAt() const override;
  Changes ChangedSince(int64_t generation) const override;
  bool IsOwnerKnown(const PodInterest& wanted) const override;
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override;

  // Makes every wait return, now and from now on.
  void Close();

 private:
  absl::Status CheckFresh() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasNewer(int64_t generation) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const absl::Duration stale_after_;
  const NodeHistory::Limits limits_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  History history_ ABSL_GUARDED_BY(mutex_);
  FleetPtr fleet_ ABSL_GUARDED_BY(mutex_);  // has `history_` alone
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler

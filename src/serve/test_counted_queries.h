// A FleetReader that counts reads, for tests of how often the fleet is read.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/fleet_store.h"
#include "model/fleet_reader.h"

namespace gpuscaler {

// Counts reads of a store, and can block the thread that waits for changes. Thread-safe.
class CountedQueries : public FleetReader {
 public:
  explicit CountedQueries(const FleetStore& store) : store_(store) {}

  // Blocks the next thread that returns from WaitForGeneration(). Returns false if there is none
  // within 10 s.
  bool BlockWaiter() {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    blocking_ = true;
    while (!blocked_ && real.Now() < deadline) changed_.WaitFor(mutex_, deadline - real.Now());
    blocking_ = blocked_;
    return blocked_;
  }
  void ReleaseWaiter() {
    MutexLock lock(mutex_);
    blocking_ = false;
    changed_.NotifyAll();
  }

  int reads(const std::string& namespace_name) const {
    MutexLock lock(mutex_);
    const auto found = reads_.find(namespace_name);
    return found == reads_.end() ? 0 : found->second;
  }

  absl::StatusOr<FleetPtr> NodesFor(const PodInterest& wanted) const override {
    {
      MutexLock lock(mutex_);
      for (const std::string& name : wanted.namespaces) ++reads_[name];
      ++reads_[absl::StrCat("owner ", wanted.owner)];
    }
    return store_.NodesFor(wanted);
  }
  absl::StatusOr<FleetPtr> AllNodes() const override { return store_.AllNodes(); }
  absl::Status Check() const override { return store_.Check(); }
  absl::Time NewestAt() const override { return store_.NewestAt(); }
  Changes ChangedSince(int64_t generation) const override {
    return store_.ChangedSince(generation);
  }
  bool IsOwnerKnown(const PodInterest& wanted) const override {
    return store_.IsOwnerKnown(wanted);
  }
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override {
    const int64_t newest = store_.WaitForGeneration(generation, timeout);
    MutexLock lock(mutex_);
    while (blocking_) {
      blocked_ = true;
      changed_.NotifyAll();
      changed_.Wait(mutex_);
    }
    blocked_ = false;
    return newest;
  }

 private:
  const FleetStore& store_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool blocking_ ABSL_GUARDED_BY(mutex_) = false;
  mutable bool blocked_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::map<std::string, int> reads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

// A fleet that counts who is asked for, for tests of what answers cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/fleet_store.h"
#include "store/fleet_reader.h"

namespace gpuscaler {

// Counts the questions to a store, and may keep who waits for changes from seeing any.
class CountedQuestions : public FleetReader {
 public:
  explicit CountedQuestions(const FleetStore& store) : store_(store) {}

  // True once somebody is kept; false when nobody is within 10 s.
  bool KeepWaiting() {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    keep_ = true;
    while (!kept_ && real.Now() < deadline) changed_.WaitFor(mutex_, deadline - real.Now());
    keep_ = kept_;
    return kept_;
  }
  void LetGo() {
    MutexLock lock(mutex_);
    keep_ = false;
    changed_.NotifyAll();
  }

  int asked(const std::string& namespace_name) const {
    MutexLock lock(mutex_);
    const auto found = asked_.find(namespace_name);
    return found == asked_.end() ? 0 : found->second;
  }

  absl::StatusOr<Fleet> Of(const PodInterest& wanted) const override {
    {
      MutexLock lock(mutex_);
      for (const std::string& name : wanted.namespaces) ++asked_[name];
      ++asked_[absl::StrCat("owner ", wanted.owner)];
    }
    return store_.Of(wanted);
  }
  absl::StatusOr<Fleet> All() const override { return store_.All(); }
  absl::Status Check() const override { return store_.Check(); }
  absl::Time NewestAt() const override { return store_.NewestAt(); }
  Changes ChangedSince(int64_t generation) const override {
    return store_.ChangedSince(generation);
  }
  bool Knows(const PodInterest& wanted) const override { return store_.Knows(wanted); }
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override {
    const int64_t newest = store_.WaitForGeneration(generation, timeout);
    MutexLock lock(mutex_);
    while (keep_) {
      kept_ = true;
      changed_.NotifyAll();
      changed_.Wait(mutex_);
    }
    kept_ = false;
    return newest;
  }

 private:
  const FleetStore& store_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool keep_ ABSL_GUARDED_BY(mutex_) = false;
  mutable bool kept_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::map<std::string, int> asked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

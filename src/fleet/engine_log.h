// The engines that were found on this node, and what they said of late, for every reader to take up
// where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/engine_subscriptions.h"
#include "signal/found_engines.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Stands between who looks for engines on the node and those who read of them over the network.
// Thread-safe.
class EngineLog {
 public:
  struct Limits {
    // Of readings: 110 engines of a profile that looks back 5 min take 7 MiB. Where they take more,
    // the oldest go of the namespace whose readings take most.
    size_t most_bytes = size_t{16} << 20;
  };
  // `wanted` is called, without a lock held, when more is wanted than before. `clock` outlives it.
  EngineLog(const Limits& limits, const Clock& clock, std::function<void()> wanted);

  // For who looks. Empty: nobody wants any; what was told is then forgotten.
  EngineSubscription Subscription();
  // As FoundEngines'; to be told anew when what is wanted has changed.
  void List(const absl::StatusOr<NodeEngines>& found);
  void Take(const EnginePlace& place, const EngineUpdate& update);

  // For who reads.
  void Want(const EngineSubscription& wanted, absl::Time until);

  // Where a reader is; a new one is before all of the past that it wants.
  struct Place {
    EngineSubscription wanted;            // when it was told the last list
    int64_t list = 0;                     // which it was; 0: none
    std::map<std::string, int64_t> next;  // of each namespace: the reading that it lacks
  };
  // Adds to `message` what the reader lacks of what it wants, up to 256 KiB of it, and moves its
  // place. False: nothing is new.
  bool Tell(const EngineSubscription& wanted, Place& place,
            telemetry::v1::EngineTelemetry& message) const;

  // When there is more news than `generation`, or after `timeout`, how much there is.
  int64_t WaitForUpdate(int64_t generation, absl::Duration timeout) const;
  // Namespaces of engines that left, as of the newest list, whether anybody wants them or not.
  std::set<std::string> Remembered() const;

  // Lets who waits go.
  void Nudge();

 private:
  struct Entry {
    int64_t number = 0;  // in the order that they came
    uint32_t engine = 0;
    absl::Time at;
    std::string bytes;  // of an EngineReading
  };
  struct Past {
    std::deque<Entry> readings;
    size_t bytes = 0;  // that they take
  };

  static size_t SizeOf(const Entry& entry);
  // What nobody wants any more is forgotten.
  EngineSubscription SubscribedNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeOver(const NodeEngines& found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NumberEngines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropFirst(Past& past) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  telemetry::v1::EngineList ListOf(const EngineSubscription& wanted) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // From the reading `next` on, while the message has less than kMostReported, which are counted.
  void TellReadings(const std::deque<Entry>& readings, bool histograms, int64_t& next,
                    size_t& bytes, telemetry::v1::EngineTelemetry& message) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const Clock& clock_;
  const std::function<void()> wanted_;
  mutable Mutex mutex_;
  mutable CondVar update_;
  EngineSubscriptions subscriptions_ ABSL_GUARDED_BY(mutex_);
  int64_t list_ ABSL_GUARDED_BY(mutex_) = 0;  // how many lists there were
  absl::Status why_none_ ABSL_GUARDED_BY(mutex_);
  NodeEngines found_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> namespaces_of_records_ ABSL_GUARDED_BY(mutex_);
  std::map<EnginePlace, uint32_t> ids_ ABSL_GUARDED_BY(mutex_);  // of those found
  std::set<uint32_t> listed_ ABSL_GUARDED_BY(mutex_);            // their numbers
  uint32_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Past> pasts_ ABSL_GUARDED_BY(mutex_);  // by namespace
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all of them
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gpuscaler

// The engines found on this node and their recent readings. Each reader has its own position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "signal/engine_subscription.h"
#include "signal/found_engines.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Far above the namespaces on a node, and far below what a hostile reader might send. The limit of
// one message, and of all readers of the lowest rank together.
inline constexpr size_t kMaxNamespacesSubscribed = 4096;

// Connects the discovery of this node's engines with the readers over the network. Thread-safe.
class EngineLog {
 public:
  // Calls `on_more_wanted` without a lock held when readers subscribe to more than before. `clock`
  // must outlive this. If readings take more than `most_bytes`, the oldest ones of the namespace
  // with the most bytes are dropped. 110 engines of a profile that looks back 5 min take 7 MiB.
  EngineLog(const Clock& clock, std::function<void()> on_more_wanted,
            size_t most_bytes = size_t{16} << 20);

  // Discovery calls this. Returns the union of the readers' subscriptions, and drops all readings
  // outside it.
  EngineSubscription Subscription();
  // Discovery calls these, as for FoundEngines. List() must be called again when Subscription() has
  // changed.
  void List(const absl::StatusOr<NodeEngines>& found);
  void AddReading(const EngineAddress& place, const EngineUpdate& update);

  // Readers call this. Adds a subscription until `until`, rounded up to a second. `stranger` is the
  // address of a reader of the lowest rank (OpenReaders); nullopt: it has a higher one.
  //
  // Returns how many new namespaces are refused; one with several interests counts as several. At
  // most 2 * kMaxNamespacesSubscribed are kept. kMaxNamespacesSubscribed of them are for strangers,
  // where one address has at most half of what the others leave. A namespace counts for the reader
  // that subscribed to it first, and no reader is refused what another one has.
  size_t Subscribe(const EngineSubscription& wanted, absl::Time until,
                   const std::optional<std::string>& stranger = std::nullopt);

  // A reader's position. A new cursor is before all kept readings of the subscription.
  struct Cursor {
    // If `wanted` differs, the next AppendNew() appends the list, and namespaces that are no longer
    // wanted start over when they come back.
    void SetSubscription(EngineSubscription wanted);

    EngineSubscription subscription;
    int64_t list = 0;                     // number of the last list that was sent; 0: none
    std::map<std::string, int64_t> next;  // the number of the next reading, by namespace
  };
  // Appends to `message` what the reader has not got yet, up to 256 KiB, and moves the cursor.
  // Returns false if there is nothing new.
  bool AppendNew(Cursor& cursor, telemetry::v1::EngineTelemetry& message) const;

  // Blocks until there is a change after `generation` or WakeWaiters(), for `timeout` at most.
  // Returns the newest generation.
  int64_t WaitForUpdate(int64_t generation, absl::Duration timeout) const;
  // Returns the namespaces with capacity records of engines that left, in the newest list,
  // subscribed or not.
  std::set<std::string> NamespacesOfRecords() const;

  // Ends all waits.
  void WakeWaiters();

 private:
  struct Entry {
    int64_t number = 0;  // in the order of arrival
    uint32_t engine = 0;
    absl::Time at;
    std::string bytes;  // a serialized EngineReading
  };
  struct Namespace {
    NamespaceEngines found;
    std::deque<Entry> readings;
    size_t bytes = 0;  // size of `readings`
  };

  // A namespace, and what is needed of its engines.
  using Key = std::pair<std::string, EngineSubscription::Interest>;
  struct Lease {
    absl::Time until;                     // a whole second
    std::optional<std::string> stranger;  // its first reader; nullopt: not of the lowest rank
  };

  static size_t SizeOf(const Entry& entry);
  // Removes leases that have ended, and updates all_. Leases end at whole seconds, so this looks at
  // all of them once a second at most.
  void RemoveEnded(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if one more namespace can be kept.
  bool HasRoom(const std::optional<std::string>& stranger) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if all_ has more than before.
  bool Add(const Key& key, const Lease& lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops everything outside all_.
  void DropUnsubscribed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NumberEngines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldest(Namespace& from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  telemetry::v1::EngineList ListOf(const EngineSubscription& wanted) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends readings from number `next` on while `bytes`, the size so far, is below the limit.
  void AppendReadings(const std::deque<Entry>& readings, bool histograms, int64_t& next,
                      size_t& bytes, telemetry::v1::EngineTelemetry& message) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const std::function<void()> on_more_wanted_;
  const size_t most_bytes_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::map<Key, Lease> leases_ ABSL_GUARDED_BY(mutex_);
  EngineSubscription all_ ABSL_GUARDED_BY(mutex_);  // the union of leases_
  // No lease ends earlier.
  absl::Time next_end_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::map<std::string, size_t> by_stranger_ ABSL_GUARDED_BY(mutex_);  // leases, by address
  size_t by_strangers_ ABSL_GUARDED_BY(mutex_) = 0;                    // sum of the above
  int64_t lists_ ABSL_GUARDED_BY(mutex_) = 0;                          // number of lists so far
  absl::Status search_error_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Namespace> namespaces_ ABSL_GUARDED_BY(mutex_);  // that were searched
  std::set<std::string> namespaces_of_records_ ABSL_GUARDED_BY(mutex_);
  std::map<EngineAddress, uint32_t> ids_ ABSL_GUARDED_BY(mutex_);  // all engines found
  std::set<uint32_t> listed_ ABSL_GUARDED_BY(mutex_);              // the values of ids_
  uint32_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // size of all readings
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gpuscaler

// The recent readings of this node as messages. Each reader has its own position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "fleet/namespace_filter.h"
#include "fleet/telemetry_wire.h"
#include "model/node_snapshot.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// The most sets of namespaces that an agent's aggregators may have, and the most that all other
// readers may have. Each set has a log.
inline constexpr int kMaxNamespaceSets = 8;

// A reading is encoded once for all readers of the same namespaces. 900 readings of 8 busy GPUs
// take less than 1 MiB. Thread-safe.
class TelemetryLog {
 public:
  // A reader's position. A new cursor is before the whole history of the subscription.
  struct Cursor {
    absl::Duration history;  // how far before the newest reading it begins
    int64_t next = -1;       // number of the next reading; -1: it has had none
    int64_t node = 0;        // number of the last change of the Node message that it got
    std::string trouble;     // the last one that it got
  };

  // Drops what is older than `horizon`. `self` has the fields of Node besides those of the
  // snapshot.
  TelemetryLog(absl::Duration horizon, telemetry::v1::Node self);

  // The node's name is empty until the first reading.
  telemetry::v1::Node node() const;

  // Returns the log of what these namespaces need (NamespaceFilter). It is empty until FillParts().
  // While any reader holds it, Add() also adds to it. RESOURCE_EXHAUSTED: readers hold
  // kMaxNamespaceSets others; aggregators and other readers have separate logs and limits. Requires
  // a log of all namespaces, and at least one name.
  absl::StatusOr<std::shared_ptr<const TelemetryLog>> LogOf(const std::set<std::string>& namespaces,
                                                            bool is_aggregator);

  // Adds the past to the new logs of some namespaces. That takes milliseconds, so LogOf() leaves it
  // out: a client may end a stream as soon as it has begun.
  void FillParts();
  // Returns false if this is a log of some namespaces that FillParts() has not filled.
  bool HasPast() const;

  // Adds the next reading.
  void Add(const NodeSnapshot& read);

  // Takes EngineLog::NamespacesOfRecords().
  void SetEngineNamespaces(const std::set<std::string>& all);

  // Why the newest reading is stale; empty: it is not.
  void SetTrouble(std::string trouble);

  // Appends to `message` what the reader has not got yet, up to 256 KiB, and moves its position;
  // `more` means that more follows at once. Returns false if there is no new reading, Node or
  // trouble. If the reader's next reading was dropped, the reader continues with the oldest one.
  bool AppendNew(Cursor& cursor, telemetry::v1::Telemetry& message) const;

 private:
  struct Entry {
    absl::Time taken_at;
    std::string bytes;  // a serialized Reading
    // The state after it as a whole reading, from which Begin() decodes. Empty for most entries.
    std::string whole;
  };

  // Adds everything that this log has to the log of some namespaces.
  void Replay(TelemetryLog& part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the logs of some namespaces that have readers and the past.
  std::vector<std::shared_ptr<TelemetryLog>> Parts() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Appends the first reading for a new reader, or after readings were dropped: a whole one, which
  // replaces all before it. If that reading has no known GPU holders, the last one with known
  // holders comes before it: readers that were connected then still use it.
  void Begin(Cursor& cursor, telemetry::v1::Telemetry& message) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t End() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration horizon_;
  mutable Mutex mutex_;  // locked before that of a log in parts_
  std::optional<NamespaceFilter> filter_ ABSL_GUARDED_BY(mutex_);  // empty: all namespaces
  bool has_past_ ABSL_GUARDED_BY(mutex_) = true;
  // Logs of some namespaces, by `is_aggregator` of LogOf() and the namespaces. Null: its last
  // reader has left.
  std::map<std::pair<bool, std::set<std::string>>, std::weak_ptr<TelemetryLog>> parts_
      ABSL_GUARDED_BY(mutex_);
  telemetry::v1::Node node_ ABSL_GUARDED_BY(mutex_);
  int64_t node_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string trouble_ ABSL_GUARDED_BY(mutex_);
  ReadingEncoder encoder_ ABSL_GUARDED_BY(mutex_);
  // The state after the readings before the first entry.
  ReadingDecoder before_ ABSL_GUARDED_BY(mutex_);
  // The last reading with known GPU holders before they became unknown: whole.
  std::optional<telemetry::v1::Reading> attributed_ ABSL_GUARDED_BY(mutex_);
  int64_t first_ ABSL_GUARDED_BY(mutex_) = 0;  // the number of the first entry
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  absl::Time newest_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler

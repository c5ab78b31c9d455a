// The streams that are open, counted per peer, so that no client can have them all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/signal_source.h"
#include "serve/request_metrics.h"
#include "store/fleet_reader.h"

namespace gpuscaler {

// Whose changes are news to a stream.
struct StreamInterest {
  int64_t version = 0;  // of the profiles that say so
  PodInterest pods;
  std::vector<SignalSource> sources;  // of a trigger on demand
  bool all_nodes = false;             // everybody's
};

class OpenStream {
 public:
  virtual ~OpenStream() = default;

  // Says what is new at `now`, if anything. Thread-safe, does not block.
  virtual void Refresh(absl::Time now) = 0;

  // What it watches has changed: a refresh, at once or when it is next due. As Refresh().
  virtual void Changed(absl::Time now) { Refresh(now); }

  // When it has something to do though nothing has changed. Thread-safe, does not block.
  virtual absl::Time NextDue() const = 0;

  // What its answers come from, under the profiles in force. Thread-safe, does not block.
  virtual StreamInterest interest() const = 0;

  // Ends with `status`; the first one counts. Thread-safe, does not block.
  virtual void End(const absl::Status& status) = 0;
};

// Thread-safe.
class OpenStreams {
 public:
  // `fleets`, whose changes it is told, and `metrics` outlive it.
  OpenStreams(int max_per_peer, const FleetReader& fleets, RequestMetrics& metrics);
  ~OpenStreams();  // after End(); waits for the last stream to be closed

  // Owns the stream until Closed(), whatever the status: RESOURCE_EXHAUSTED when the peer has too
  // many, or all of them hold too much with the `bytes` of metadata of this one, UNAVAILABLE after
  // End(). A stream that is refused is to be ended with that status.
  // `peer`: CallHeaders::peer.
  absl::Status Open(Rpc rpc, absl::string_view peer, size_t bytes,
                    std::shared_ptr<OpenStream> stream);

  // From now on it is refreshed when that changes and when it is due, which it is at once. What
  // older profiles say than the last time is passed over.
  void Watch(const OpenStream* stream, const StreamInterest& interest);

  // To be called once, last of all, by the stream itself; may delete it.
  void Closed(const OpenStream* stream, absl::StatusCode code);

  // Must be called on one thread. Each refreshes some streams alone, so that no caller waits for
  // thousands: RefreshDue() goes on with those that have changed, in their order, and with those
  // that are due.
  void RefreshAll(absl::Time now);  // which from now on watch what new profiles name
  void RefreshChanged(const FleetReader::Changes& changes, absl::Time now);
  void RefreshChanged(const std::vector<SignalSource>& sources, absl::Time now);
  void RefreshDue(absl::Time now);

  bool WatchSources() const;  // one of them does

  // When the first one is due; InfinitePast: one that has changed waits; InfiniteFuture: none is.
  absl::Time NextDue() const;

  // Ends every stream with OK, now and from now on.
  void End();

 private:
  using Streams = std::vector<std::shared_ptr<OpenStream>>;
  struct Record {
    std::shared_ptr<OpenStream> stream;
    Rpc rpc;
    std::string peer;  // empty: refused, and not counted
    size_t bytes = 0;
    StreamInterest interest;
    absl::Time due = absl::InfiniteFuture();
    int64_t changed = 0;  // its place among those that have; 0: it has not
  };
  struct Peer {
    int streams = 0;
    size_t bytes = 0;  // metadata
  };

  // An address has half of what the others leave: 20,000 streams of KEDA's with 1.6 KiB each.
  static constexpr size_t kMostBytes = size_t{64} << 20;

  Streams All() const;
  // Calls it of each, and asks when it is due from then on.
  void Call(void (OpenStream::*what)(absl::Time), const Streams& streams, absl::Time now);
  void SetChanged(const OpenStream* stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetUnchanged(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefreshSomeChanged(absl::Time now);
  void SetDue(const OpenStream* stream, absl::Time due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whoever's pods concern it, as long as those of its owner are not known.
  void SetWatching(const OpenStream* stream, const PodInterest& wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unwatch(const OpenStream* stream, const StreamInterest& interest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unwatch(const OpenStream* stream, const PodsOf& pods) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoom(const std::string& peer, size_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(const Record& record, int by) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int max_per_peer_;
  const FleetReader& fleets_;
  RequestMetrics& metrics_;
  mutable Mutex mutex_;
  CondVar closed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<const OpenStream*, Record> streams_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<PodsOf, absl::flat_hash_set<const OpenStream*>> watching_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<const OpenStream*> watching_all_ ABSL_GUARDED_BY(mutex_);
  std::map<SignalSource, std::set<const OpenStream*>> watching_sources_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, const OpenStream*>> due_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, const OpenStream*> changed_ ABSL_GUARDED_BY(mutex_);
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Peer> per_peer_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Rpc, int> per_rpc_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

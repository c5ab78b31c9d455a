// The open streams: refreshes them when their inputs change, and limits how many a peer may hold.
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
#include "model/fleet_reader.h"
#include "model/signal_source.h"
#include "serve/request_metrics.h"

namespace gpuscaler {

// The inputs of a stream's decisions. Changes of others do not concern it.
struct StreamInterest {
  int64_t version = 0;  // profiles' version that it was derived from
  PodInterest pods;
  // Engines, gateways, metrics endpoints and queues. Not null. Shared with ParsedTrigger, as
  // thousands of streams may have credentials of up to 40 KiB.
  std::vector<std::shared_ptr<const SignalSource>> sources;
  bool all_nodes = false;
};

class OpenStream {
 public:
  virtual ~OpenStream() = default;

  // Evaluates the trigger and sends a message if there is a new one. Thread-safe, never blocks.
  virtual void Refresh(absl::Time now) = 0;

  // An input has changed: refreshes at once or when next due. Thread-safe, never blocks.
  virtual void Changed(absl::Time now) { Refresh(now); }

  // Returns when the stream must be refreshed even if no input changes. Thread-safe, never blocks.
  virtual absl::Time NextDue() const = 0;

  // Returns the inputs of its decisions under the profiles in force. Thread-safe, never blocks.
  virtual StreamInterest interest() const = 0;

  // Ends with `status`; only the first call counts. Thread-safe, never blocks.
  virtual void End(const absl::Status& status) = 0;
};

// Thread-safe.
class StreamRegistry {
 public:
  // `fleets` and `metrics` must outlive it. RefreshChanged() must get the changes of `fleets`.
  StreamRegistry(int max_per_peer, const FleetReader& fleets, RequestMetrics& metrics);
  ~StreamRegistry();  // requires End(); blocks until the last stream is closed

  // Owns the stream until Closed(), unless it returns an error. RESOURCE_EXHAUSTED: `peer`
  // (CallHeaders::peer) has too many streams, or with the `bytes` of this one too much metadata.
  // UNAVAILABLE: End() was called.
  absl::Status Open(Rpc rpc, absl::string_view peer, size_t bytes,
                    std::shared_ptr<OpenStream> stream);

  // Makes the stream due at once. From then on refreshes it when an input in `interest` changes,
  // and when it is due. Ignores an interest of older profiles than the last one.
  void Watch(const OpenStream* stream, const StreamInterest& interest);

  // Must be called once, after all other calls, by an open stream itself. May delete the stream.
  void Closed(const OpenStream* stream, absl::StatusCode code);

  // These must be called on one thread. Each call refreshes only a few streams, so that it never
  // takes as long as thousands of decisions. RefreshDue() continues with changed streams and with
  // those that are due. Peers get equal parts of the CPU time; the streams of a peer come in the
  // order in which they have changed or become due.
  void RefreshAll(absl::Time now);  // also takes the interests of all streams under new profiles
  void RefreshChanged(const FleetReader::Changes& changes, absl::Time now);
  void RefreshChanged(const std::vector<SignalSource>& sources, absl::Time now);
  void RefreshDue(absl::Time now);

  bool HasWatchedSources() const;  // true if any stream watches a source

  // InfinitePast: a changed or due stream waits. InfiniteFuture: none is due.
  absl::Time NextDue() const;

  // Ends every stream with OK, now and from now on.
  void End();

 private:
  using Streams = std::vector<std::shared_ptr<OpenStream>>;
  struct Record {
    std::shared_ptr<OpenStream> stream;
    Rpc rpc;
    std::string peer;
    size_t bytes = 0;
    StreamInterest interest;
    bool is_owner_known = false;  // as of the last SetWatching()
    absl::Time due = absl::InfiniteFuture();
    int64_t turn = 0;     // its place in waiting_; 0 if it does not wait
    bool is_due = false;  // while it waits; else it has changed
  };
  struct Peer {
    int streams = 0;
    size_t bytes = 0;  // metadata
  };
  // A peer's streams to refresh, by turn.
  struct Waiting {
    absl::Duration used;  // CPU time. A peer begins with that of the peer with the least
    std::map<int64_t, const OpenStream*> streams;
  };

  struct ByValue {
    using is_transparent = void;
    static const SignalSource& Of(const SignalSource& source) { return source; }
    static const SignalSource& Of(const std::shared_ptr<const SignalSource>& source) {
      return *source;
    }
    bool operator()(const auto& a, const auto& b) const { return Of(a) < Of(b); }
  };

  // An address may have half of what the others leave: 20,000 streams of KEDA with 1.6 KiB each.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  Streams All() const;
  void SetWaiting(const OpenStream* stream, bool is_due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if it was due.
  bool SetNotWaiting(Record& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the first waiting stream of the peer that has used the least CPU time; null: none
  // waits.
  Record* Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Charge(const std::string& peer, absl::Duration used) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefreshWaiting(absl::Time now);
  void SetDue(const OpenStream* stream, absl::Time due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Watches all pods of the namespaces while those of the stream's owner are unresolved.
  void SetWatching(const OpenStream* stream, const PodInterest& wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unwatch(const OpenStream* stream, const StreamInterest& interest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unwatch(const OpenStream* stream, const OwnerKey& pods)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  absl::flat_hash_map<OwnerKey, absl::flat_hash_set<const OpenStream*>> watching_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<const OpenStream*> watching_all_ ABSL_GUARDED_BY(mutex_);
  std::map<std::shared_ptr<const SignalSource>, std::set<const OpenStream*>, ByValue>
      watching_sources_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, const OpenStream*>> due_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // key: the peer
  // Waiting::used, and the peer.
  std::set<std::pair<absl::Duration, std::string>> by_used_ ABSL_GUARDED_BY(mutex_);
  int64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Peer> per_peer_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Rpc, int> per_rpc_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

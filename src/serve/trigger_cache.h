// Caches the newest decision for each trigger, so that a request between two snapshots costs a
// look-up.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "externalscaler.pb.h"
#include "model/allowed_namespaces.h"
#include "model/fleet_history.h"
#include "model/leases.h"
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "scaling/decision.h"
#include "scaling/idle_fast_path.h"
#include "scaling/workload_pod_names.h"
#include "serve/outcome.h"
#include "serve/profile_store.h"
#include "serve/profile_suggestion.h"
#include "serve/request_gap.h"
#include "trigger/metric_type.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// A trigger's metadata under one version of the profiles. Immutable once shared.
struct ParsedTrigger {
  int64_t profiles_version = 0;
  absl::StatusOr<Trigger>
      trigger;           // without credentials: Parse() moves them to `source` and `gateway`
  std::string bad_keys;  // "aggregation,window"; empty if the trigger is OK
  MetricSpec spec;       // set also if the trigger is an error
  // The pods that its decision depends on. All pods of its namespaces if the trigger is an error.
  PodInterest wanted;
  std::shared_ptr<const SignalSource> source;   // read besides GPUs; null: none
  std::shared_ptr<const SignalSource> gateway;  // in front of the engines, if `source` is read

  // Returns true if a decision needs GPUs or the pods that hold them. Requires a trigger that is
  // OK.
  bool NeedsNodes() const;
};

// The part of a decision that a request needs.
enum class DecisionPart {
  kActivity,  // the status, and whether the workload is active
  kAll,
};

// A trigger evaluated on one history of each kind. Immutable once shared.
struct CachedDecision {
  int64_t sequence = 0;                         // number of this decision on its trigger
  int64_t generation = 0;                       // the fleet's
  int64_t signal_generation = 0;                // the source's, restricted to `own`
  std::shared_ptr<const WorkloadPodNames> own;  // only engines in these pods count; null: all
  std::shared_ptr<const ParsedTrigger> parsed;  // its trigger is OK
  bool is_whole = true;  // false: without contributions and nodes, valid for kActivity alone
  Decision decision;

  // Returns true if evaluating the trigger `now` on `fleet` and on signals of generation
  // `newest_signals` would give the same result. Inputs older than those of this decision do not
  // replace it: returns true too if `fleet` or the signals are older and the other is not newer.
  bool IsValidFor(DecisionPart part, const ParsedTrigger& now, const FleetHistory& fleet,
                  int64_t newest_signals) const;
};

// The readings of a source.
struct Observations {
  SignalHistory history;
  std::shared_ptr<const WorkloadPodNames> own;  // only engines in these pods count; null: all
};

// The result for one request.
struct Evaluation {
  std::shared_ptr<const CachedDecision> cached;
  bool is_new = false;  // decided for this request
  // The status and activity stay valid until then if no reading arrives.
  absl::Time active_until;
};

// Returns approximately the memory that a decision holds.
size_t BytesOf(const Decision& decision);

// The state of one trigger of one ScaledObject: its metadata and its newest decision. Thread-safe.
// Lives as long as the cache or a stream holds it.
class TriggerEntry {
 public:
  explicit TriggerEntry(const externalscaler::ScaledObjectRef& ref,
                        const AllowedNamespaces& allowed = {});

  bool IsFor(const externalscaler::ScaledObjectRef& ref) const;
  size_t size_bytes() const { return size_bytes_; }  // memory of names and metadata

  // The bytes of the decisions of all triggers in a cache.
  struct DecisionBytes {
    std::atomic<size_t> total = 0;
    size_t most = 0;
  };
  // Adds the size of the cached decision to `bytes` until Uncount(). After that only the part that
  // a stream needs is kept, since thousands of streams may hold triggers that the cache dropped.
  // The same holds for a new decision beyond `most`: thousands may be made before the cache's next
  // look-up.
  void CountIn(std::shared_ptr<DecisionBytes> bytes);
  void Uncount();

  // Returns the source to read besides GPUs, if any. Returns an error if the trigger may not name
  // it or this process does not read it.
  using SourceFor = absl::FunctionRef<absl::StatusOr<std::optional<SignalSource>>(
      const Trigger& trigger, const ScaledObjectRef& scaled_object)>;

  // Parses the metadata once for each version of the profiles.
  struct ParseResult {
    std::shared_ptr<const ParsedTrigger> parsed;
    bool is_new;  // parsed by this call
  };
  ParseResult Parse(
      const ProfileStore::Current& profiles,
      SourceFor source_for = [](const Trigger&, const ScaledObjectRef&) { return std::nullopt; });
  // Returns null if the metadata was not parsed under this version of the profiles.
  std::shared_ptr<const ParsedTrigger> parsed(int64_t profiles_version) const;

  // Decides once per generation, and again when time alone may have changed the result
  // (Decision::valid_until, active_until). For a history older than the last one, returns the
  // cached decision. The activity of a workload that stays idle needs no new decision
  // (IdleFastPath). `received` comes from the trigger's source; null if it has none or none is
  // read. Blocks while another thread decides on the trigger; no other function does.
  Evaluation Evaluate(DecisionPart part, const std::shared_ptr<const ParsedTrigger>& parsed,
                      const FleetHistory& fleet, const StalenessLimits& staleness,
                      const Observations* received = nullptr);

  // Returns null before the first decision.
  std::shared_ptr<const CachedDecision> cached() const;
  // The newest decision may have extended the look-back.
  absl::Duration LookBackOf(const Trigger& trigger) const;

  // Returns what Evaluate() would return without deciding. Returns nothing if a decision is needed
  // or `cached` has been replaced. `signal_generation` is the present one of the signals that
  // `cached` used.
  std::optional<Evaluation> EvaluateCached(DecisionPart part, const ParsedTrigger& parsed,
                                           const FleetHistory& fleet,
                                           const std::shared_ptr<const CachedDecision>& cached,
                                           int64_t signal_generation);

  // The outcome that was logged last. SetLogged() returns false if it was the same one.
  Outcome logged_outcome() const { return logged_outcome_; }
  bool SetLogged(Outcome outcome) { return logged_outcome_.exchange(outcome) != outcome; }

  // Each ambiguity is logged once. SetLogged() returns true the first time.
  bool HasLogged(AmbiguityWarning::About ambiguity) const {
    return (logged_ambiguities_ & BitOf(ambiguity)) != 0;
  }
  bool SetLogged(AmbiguityWarning::About ambiguity) {
    return (logged_ambiguities_.fetch_or(BitOf(ambiguity)) & BitOf(ambiguity)) == 0;
  }

  // Only for triggers without a profile.
  ProfileSuggestion& suggestion() { return suggestion_; }
  // Makes the next request cause a new decision.
  void DropCached();

  const ScaledObjectRef& scaled_object() const { return scaled_object_; }
  const std::string& name() const { return scaled_object_.name; }
  const std::string& namespace_name() const { return scaled_object_.namespace_name; }
  // It may see the pods of these namespaces: its own, and those that --allow-namespaces opens.
  const std::vector<std::string>& namespaces() const { return namespaces_; }

  // Records a request and returns the end of its lease. The lease lasts 3 x the longest gap between
  // requests (serve/request_gap.h), which is at least `expected_gap`, and from kShortestLease to
  // kLongestLease.
  absl::Time LeaseFrom(absl::Time now, absl::Duration expected_gap = absl::ZeroDuration());

  struct Lease {
    absl::Time requested_at = absl::InfinitePast();  // newest request
    absl::Time until = absl::InfinitePast();
  };
  Lease lease() const;

 private:
  static unsigned BitOf(AmbiguityWarning::About ambiguity) {
    return 1u << static_cast<unsigned>(ambiguity);
  }

  // Requires a cached decision. Empty: it is not valid.
  std::optional<Evaluation> FindCached(DecisionPart part, const ParsedTrigger& parsed,
                                       const FleetHistory& fleet, int64_t newest_signals)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Empty: a decision is needed.
  std::optional<absl::Time> IdleUntil(const ParsedTrigger& parsed, const FleetHistory& fleet,
                                      int64_t newest_signals) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Requires a cached decision. Returns its memory.
  size_t BytesKept() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(size_t decision_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepOnlyActivity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ScaledObjectRef scaled_object_;
  const std::vector<std::string> namespaces_;
  const Metadata metadata_;
  const size_t size_bytes_;
  std::atomic<Outcome> logged_outcome_ = Outcome::kValue;
  std::atomic<unsigned> logged_ambiguities_ = 0;
  ProfileSuggestion suggestion_;
  Mutex decide_mutex_;  // one decision at a time; acquired before mutex_
  mutable Mutex mutex_;
  std::shared_ptr<const ParsedTrigger> parsed_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const CachedDecision> cached_ ABSL_GUARDED_BY(mutex_);
  bool is_uncounted_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t decided_ ABSL_GUARDED_BY(mutex_) = 0;  // the last decision's sequence
  struct Idle {
    IdleFastPath workload;  // as of the cached decision
    int64_t generation;     // the newest history's on which the decision still holds
    absl::Time at;          // the time of that history
    absl::Time until;       // inactive until then without another reading
  };
  std::optional<Idle> idle_ ABSL_GUARDED_BY(mutex_);
  size_t decision_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<DecisionBytes> counted_ ABSL_GUARDED_BY(mutex_);  // null: not counted
  LongestRequestGap longest_gap_ ABSL_GUARDED_BY(mutex_);
  Lease lease_ ABSL_GUARDED_BY(mutex_);
};

// An LRU cache keyed by namespace, name and metadata. It evicts on look-ups only. Thread-safe.
class TriggerCache {
 public:
  struct Limits {
    size_t triggers = 10'000;
    size_t bytes = size_t{64} << 20;  // names, metadata and cached decisions
  };
  explicit TriggerCache(const Limits& limits, AllowedNamespaces allowed = {})
      : limits_(limits), allowed_(std::move(allowed)) {
    decision_bytes_->most = limits.bytes + limits.bytes / 4;  // the next look-up evicts
  }

  std::shared_ptr<TriggerEntry> Get(const externalscaler::ScaledObjectRef& ref);

  // Returns all triggers, most recently used first.
  std::vector<std::shared_ptr<TriggerEntry>> All() const;

 private:
  struct Slot {
    size_t fingerprint = 0;
    std::shared_ptr<TriggerEntry> trigger;
  };
  using Slots = std::list<Slot>;

  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Slots::iterator slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const AllowedNamespaces allowed_;
  mutable Mutex mutex_;
  Slots slots_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  // If two triggers have one fingerprint, the later one replaces the other.
  absl::flat_hash_map<size_t, Slots::iterator> by_fingerprint_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // memory of names and metadata
  // Bytes of the cached decisions, which change between look-ups too.
  const std::shared_ptr<TriggerEntry::DecisionBytes> decision_bytes_ =
      std::make_shared<TriggerEntry::DecisionBytes>();
};

// Returns INVALID_ARGUMENT for more than 64 KiB or 256 keys.
absl::Status CheckSize(const externalscaler::ScaledObjectRef& ref);
// Checks the size, and returns INVALID_ARGUMENT if the ScaledObject has no name or too long a name
// or namespace. All calls but GetMetricSpec require a name.
absl::Status CheckRef(const externalscaler::ScaledObjectRef& ref);

}  // namespace gpuscaler

// What was last answered for each trigger that KEDA asks about, so that a question between two
// snapshots costs a look-up.
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
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "scaling/ambiguity_warning.h"
#include "scaling/decision.h"
#include "scaling/idle_fast_path.h"
#include "scaling/own_pods.h"
#include "serve/longest_gap.h"
#include "serve/outcome.h"
#include "serve/profile_store.h"
#include "serve/profile_suggestion.h"
#include "store/lease_bounds.h"
#include "trigger/metric_type.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// A trigger's metadata under one version of the profiles. Immutable once shared.
struct ParsedTrigger {
  int64_t profiles_version = 0;
  absl::StatusOr<Trigger> trigger;
  std::string bad_keys;  // "aggregation,window"; of a trigger that is an error
  MetricSpec spec;       // also where the trigger is an error
  // What it is decided on, of its own scope only; whoever's where the trigger is an error.
  PodInterest wanted;
  std::optional<SignalSource> source;   // what is read for it besides GPUs
  std::optional<SignalSource> gateway;  // in front of its engines, if `source` is read

  // Whether GPUs, or the pods that hold them, are part of its decision. Of a trigger that is OK.
  bool NeedsNodes() const;
};

// What of a cached decision is asked for.
enum class Question {
  kActivity,  // its status, and whether the workload is active
  kAll,
};

// A trigger evaluated on one history of each kind. Immutable once shared.
struct CachedDecision {
  int64_t sequence = 0;                         // counts the decisions of its trigger
  int64_t generation = 0;                       // of the fleet
  int64_t signal_generation = 0;                // of what `own` said, or all of its source
  std::shared_ptr<const OwnPods> own;           // whose engines were looked at; null: all
  std::shared_ptr<const ParsedTrigger> parsed;  // its trigger is OK
  bool is_whole = true;  // false: without contributions and nodes, right for its activity alone
  Decision decision;

  // Whether the trigger as it is read `now` would be evaluated alike on `fleet`, or that is older,
  // and on signals of that generation.
  bool IsRight(Question question, const ParsedTrigger& now, const FleetHistory& fleet,
               int64_t of_signals) const;
};

// What a source said, and which of its engines that is of.
struct Observations {
  SignalHistory history;
  std::shared_ptr<const OwnPods> own;  // null: all
};

// What a question gets.
struct Evaluation {
  std::shared_ptr<const CachedDecision> cached;
  bool is_new = false;  // decided just now
  // Its status and activity are right until then if nothing more is heard.
  absl::Time active_until;
};

// Memory that a decision holds, about.
size_t BytesOf(const Decision& decision);

// One trigger of one ScaledObject. Thread-safe; lives as long as the cache or a stream holds it.
class CachedTrigger {
 public:
  explicit CachedTrigger(const externalscaler::ScaledObjectRef& ref,
                         const AllowedNamespaces& allowed = {});

  bool IsFor(const externalscaler::ScaledObjectRef& ref) const;
  size_t size_bytes() const { return size_bytes_; }  // of its names and metadata

  // What its cached decision takes is counted in `total` from now on, until Uncount(). From then on
  // it keeps what a stream needs alone: thousands of streams may hold triggers that the cache has
  // dropped.
  void CountIn(std::shared_ptr<std::atomic<size_t>> total);
  void Uncount();

  // What is to be read for a trigger besides GPUs; an error: what it names may not be, or nobody
  // here reads it.
  using SourceFor = absl::FunctionRef<absl::StatusOr<std::optional<SignalSource>>(
      const Trigger& trigger, const ScaledObjectRef& scaled_object)>;

  // Reads the metadata once for each version of the profiles.
  struct Parsing {
    std::shared_ptr<const ParsedTrigger> parsed;
    bool is_new;  // read just now
  };
  Parsing Parse(
      const ProfileStore::Current& profiles,
      SourceFor source_for = [](const Trigger&, const ScaledObjectRef&) { return std::nullopt; });
  // Null: they have not been read under this version of the profiles.
  std::shared_ptr<const ParsedTrigger> parsed(int64_t profiles_version) const;

  // Decides once a generation, and again when time alone may have changed the answer
  // (Decision::valid_until, active_until); a history older than the last one gets the last one's
  // cached decision. Of the activity of a workload that stays quiet (IdleFastPath) it is not
  // decided anew. `received` is from its source; null: it has none, or it is not read. Blocks
  // while another thread decides on the trigger; no other function does.
  Evaluation Evaluate(Question question, const std::shared_ptr<const ParsedTrigger>& parsed,
                      const FleetHistory& fleet, const StalenessLimits& staleness,
                      const Observations* received = nullptr);

  // Null: none was made yet.
  std::shared_ptr<const CachedDecision> cached() const;
  // How far a decision on the trigger looks back, by the newest one.
  absl::Duration LookBackOf(const Trigger& trigger) const;

  // What Evaluate() would return without deciding, if `cached` still is its cached decision and
  // what that looked at of its source is of this generation now. Empty: a decision is needed.
  std::optional<Evaluation> Standing(Question question, const ParsedTrigger& parsed,
                                     const FleetHistory& fleet,
                                     const std::shared_ptr<const CachedDecision>& cached,
                                     int64_t signal_generation);

  // What the log last said it is answered with. Say() is false when that was the same.
  Outcome observed() const { return observed_; }
  bool Say(Outcome outcome) { return observed_.exchange(outcome) != outcome; }

  // The same of what is ambiguous, once each: false when it was said before.
  bool HasLogged(AmbiguityWarning::About ambiguity) const {
    return (logged_ambiguities_ & BitOf(ambiguity)) != 0;
  }
  bool Say(AmbiguityWarning::About ambiguity) {
    return (logged_ambiguities_.fetch_or(BitOf(ambiguity)) & BitOf(ambiguity)) == 0;
  }

  // Used by triggers without a profile alone.
  ProfileSuggestion& suggestion() { return suggestion_; }
  // The next question is decided anew, whatever is cached.
  void DropCached();

  const ScaledObjectRef& scaled_object() const { return scaled_object_; }
  const std::string& name() const { return scaled_object_.name; }
  const std::string& namespace_name() const { return scaled_object_.namespace_name; }
  // Whose pods it may see: its own, and those that were opened for it.
  const std::vector<std::string>& namespaces() const { return namespaces_; }

  // Until when the costly readings of who asks now are wanted: for 3 x the longest gap between
  // questions (DESIGN 3, serve/longest_gap.h), kShortestLease at least and kLongestLease at most.
  absl::Time LeaseFrom(absl::Time now);

 private:
  static unsigned BitOf(AmbiguityWarning::About ambiguity) {
    return 1u << static_cast<unsigned>(ambiguity);
  }

  // The cached decision that there is, where it is right.
  std::optional<Evaluation> Known(Question question, const ParsedTrigger& parsed,
                                  const FleetHistory& fleet, int64_t of_signals)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until when, if it is told by what is new alone.
  std::optional<absl::Time> IdleUntil(const ParsedTrigger& parsed, const FleetHistory& fleet,
                                      int64_t of_signals) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(size_t decision_bytes);
  void KeepActivityAlone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ScaledObjectRef scaled_object_;
  const std::vector<std::string> namespaces_;
  const Metadata metadata_;
  const size_t size_bytes_;
  std::atomic<Outcome> observed_ = Outcome::kValue;
  std::atomic<unsigned> logged_ambiguities_ = 0;
  ProfileSuggestion suggestion_;
  Mutex decide_mutex_;  // before mutex_: one decision at a time
  mutable Mutex mutex_;
  std::shared_ptr<const ParsedTrigger> parsed_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const CachedDecision> cached_ ABSL_GUARDED_BY(mutex_);
  bool is_uncounted_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t decided_ ABSL_GUARDED_BY(mutex_) = 0;  // sequence of the last decision
  struct Quiet {
    IdleFastPath workload;  // since the cached decision
    int64_t generation;     // of the last history that it stood on
    absl::Time at;
    absl::Time until;
  };
  std::optional<Quiet> idle_ ABSL_GUARDED_BY(mutex_);
  // One of its own: nobody waits for a decision to be made.
  Mutex count_mutex_;  // behind mutex_
  size_t decision_bytes_ ABSL_GUARDED_BY(count_mutex_) = 0;
  std::shared_ptr<std::atomic<size_t>> total_ ABSL_GUARDED_BY(count_mutex_);  // null: not counted
  LongestGap longest_gap_ ABSL_GUARDED_BY(mutex_);
  absl::Time lease_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// Keyed by namespace, name and metadata; the least recently asked go first, when the next question
// comes. Thread-safe.
class TriggerCache {
 public:
  struct Limits {
    size_t triggers = 10'000;
    size_t bytes = size_t{64} << 20;  // of names, metadata and cached decisions
  };
  explicit TriggerCache(const Limits& limits, AllowedNamespaces allowed = {})
      : limits_(limits), allowed_(std::move(allowed)) {}

  std::shared_ptr<CachedTrigger> Get(const externalscaler::ScaledObjectRef& ref);

 private:
  struct Entry {
    size_t fingerprint = 0;
    std::shared_ptr<CachedTrigger> trigger;
  };
  using Entries = std::list<Entry>;

  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const AllowedNamespaces allowed_;
  Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);  // the most recently asked first
  // Of two triggers with one fingerprint, the later one has the place.
  absl::flat_hash_map<size_t, Entries::iterator> by_fingerprint_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of names and metadata
  // Of the cached decisions, which come and go while no question is looked up.
  const std::shared_ptr<std::atomic<size_t>> decision_bytes_ =
      std::make_shared<std::atomic<size_t>>(0);
};

// What a question may hold: 64 KiB and 256 keys, else INVALID_ARGUMENT.
absl::Status CheckSize(const externalscaler::ScaledObjectRef& ref);
// Besides, all but GetMetricSpec need to know whose it is: INVALID_ARGUMENT without a name.
absl::Status CheckRef(const externalscaler::ScaledObjectRef& ref);

}  // namespace gpuscaler

#include "scaling/engine_replicas.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "base/status_macros.h"
#include "scaling/engine_owners.h"
#include "scaling/frozen_engine.h"
#include "scaling/hidden_engines.h"
#include "scaling/pod_replicas.h"
#include "scaling/replica_load.h"
#include "scaling/signal_samples.h"
#include "scaling/unreadable_engines.h"
#include "scaling/workload_engines.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using Engines = EngineOwners::Engines;

class EngineReplicas {
 public:
  EngineReplicas(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                 const FleetHistory& fleet, bool by_owner, const SignalHistory& signals,
                 const StalenessLimits& staleness, Replicas& workload_replicas)
      : trigger_(trigger),
        scaled_object_(scaled_object),
        fleet_(fleet),
        now_(fleet.now),
        signals_(signals),
        staleness_(staleness),
        workload_replicas_(workload_replicas),
        endpoint_is_named_(!trigger.engine_endpoint.url.empty()),
        by_owner_(by_owner),
        owners_(trigger, fleet, by_owner, signals, workload_replicas.replicas),
        remembered_(Remembered()),
        reported_(CheckMetric()) {}

  // Its engines' numbers, or the want of them, are what the workload counts.
  bool Speak() {
    if (ReadsEngines(trigger_)) return true;
    if (!reported_.ok()) return false;
    absl::Time last_read = LastReadOfThoseLeft();
    bool any = last_read != absl::InfinitePast() || (by_owner_ && !signals_.status.ok());
    for (const SignalSeries* engine : owners_.All()) {
      if (!engine->reported_by.empty()) continue;
      last_read = std::max(last_read, LastReadAt(*engine));
      any = true;
    }
    // That none can be read is known once they were asked for so long.
    absl::Time known_at = (last_read == absl::InfinitePast() ? signals_.read_since : last_read) +
                          staleness_.forget_after;
    if (last_read != absl::InfinitePast()) known_at = std::max(known_at, AllStartUntil(last_read));
    if (!any || now_ > known_at) return false;
    workload_replicas_.changes_at = known_at;
    return true;
  }

  absl::Status CheckAddresses() {
    if (!owners_.IsOneAddressOfSeveral()) return absl::OkStatus();
    const std::string what = absl::StrCat(
        trigger_.engine_endpoint.url, " leads to the one address ", signals_.series.front().address,
        ", which is not one of the ", Present(), " pods'");
    if (std::ranges::all_of(workload_replicas_.replicas, [this](const Replica& replica) {
          return !replica.present || owners_.HasAddress(replica);
        })) {
      return absl::FailedPreconditionError(
          absl::StrCat(what,
                       ": a Service with a ClusterIP answers for one of them at random; name "
                       "a headless one (clusterIP: None)"));
    }
    workload_replicas_.notes.push_back(
        absl::StrCat(what,
                     " as far as is known: behind a Service with a ClusterIP only one of "
                     "them would be read; name a headless one (clusterIP: None)"));
    return absl::OkStatus();
  }

  // That none of the workload's engines will ever have the number, as far as they are recognised.
  const absl::Status& reported() const { return reported_; }

  // Where its GPUs speak for the workload: why its engines do not.
  void NoteWhyNone() {
    if (!reported_.ok()) {
      workload_replicas_.notes.emplace_back(reported_.message());
      return;
    }
    if (endpoint_is_named_) {
      if (HasNoAddress()) workload_replicas_.notes.push_back(NoAddress());
      return;
    }
    for (const Replica& replica : workload_replicas_.replicas) {
      const std::string why = replica.present ? WhyNotFoundIn(replica, signals_) : "";
      if (why.empty()) continue;
      workload_replicas_.notes.push_back(
          absl::StrCat("no engine is found in ", replica.name, ": ", why));
      return;
    }
  }

  // The workload's engines, with what they show of its capacity.
  void CollectEngines() {
    const std::vector<Replica>& replicas = workload_replicas_.replicas;
    WorkloadEngines engines(fleet_, replicas, ComputesDemand(trigger_));
    // Behind one address each reading may be of another pod: its counters show no arrivals.
    if (owners_.UnmatchedCount() && !owners_.IsOneAddressOfSeveral()) {
      for (const SignalSeries* engine : owners_.unmatched()) engines.AddPresent(*engine, nullptr);
    }
    for (size_t i = 0; by_owner_ && i < replicas.size(); ++i) {
      for (const SignalSeries* engine : owners_.Of(i)) {
        const bool serves =
            replicas[i].present && replicas[i].ending_since == absl::InfiniteFuture();
        serves ? engines.AddPresent(*engine, &replicas[i]) : engines.AddLeft(*engine);
      }
    }
    AddLeft(engines);
    engines.AddRemembered(remembered_);
    workload_replicas_.engines = std::move(engines).Take();
    workload_replicas_.batch_limit = SharedLimit(workload_replicas_.engines);
  }

  void Replace() {
    CollectEngines();
    const std::vector<Replica> left = Left();
    for (const SignalSeries* engine : owners_.unmatched()) {
      unmatched_frozen_at_[engine] = UnmatchedFrozenAt(*engine);
    }
    if (by_owner_) {
      ReplaceByOwner();
    } else {
      workload_replicas_.replicas.clear();
      workload_replicas_.idle.clear();
      workload_replicas_.unseen = CheckNoneIsHidden(trigger_, scaled_object_, fleet_, signals_);
    }
    absl::StrAppend(&workload_replicas_.from, workload_replicas_.from.empty() ? "" : ", ",
                    "by their engines");
    if (owners_.UnmatchedCount()) AddAllUnmatched();
    std::erase_if(workload_replicas_.replicas, HasNoSample);
    std::ranges::copy(left, std::back_inserter(workload_replicas_.replicas));
    const std::string silent = UnreadableEnginesText(workload_replicas_.replicas);
    if (!silent.empty()) workload_replicas_.notes.push_back(silent);
    if (HasNoAddress() && Present() == 0) workload_replicas_.notes.push_back(NoAddress());
  }

 private:
  // Replicas reach back as far as the trigger looks, and pods to the end of the history: what an
  // engine showed of the capacity still counts while its successors start.
  void AddLeft(WorkloadEngines& engines) const {
    const auto is_of_replica = [this](const SignalSeries& engine) {
      return owners_.IsOfWorkload(engine);
    };
    std::vector<const Pod*> past;
    if (by_owner_ && !std::ranges::all_of(signals_.left, is_of_replica)) {
      past = PastPodsOf(trigger_, scaled_object_, fleet_);
    }
    for (const SignalSeries& engine : signals_.left) {
      const auto is_its = [&engine](const Pod* pod) { return IsOfPod(engine, *pod); };
      if (is_of_replica(engine) || std::ranges::any_of(past, is_its)) engines.AddLeft(engine);
    }
  }

  static bool IsOfPod(const SignalSeries& engine, const Pod& pod) {
    return !engine.pod.empty() && engine.pod == pod.name &&
           engine.namespace_name == pod.namespace_name;
  }

  // If all replicas began after the last reading of an engine and may not have started yet, none
  // can be read: returns when the longest start ends. Otherwise InfinitePast.
  absl::Time AllStartUntil(absl::Time last_read) const {
    absl::Time newest = absl::InfinitePast();
    for (const Replica& replica : workload_replicas_.replicas) {
      if (!replica.present) continue;
      if (!by_owner_ || replica.held_since <= last_read || IsKnownReady(replica)) {
        return absl::InfinitePast();
      }
      newest = std::max(newest, replica.starting_since);
    }
    return newest + kLongestStart;
  }

  static bool IsKnownReady(const Replica& replica) {
    return !replica.pods.empty() && std::ranges::all_of(replica.pods, [](const Pod* pod) {
      return pod->ready.value_or(false) || pod->was_ready;
    });
  }

  // The workload's engines, or all where owners do not count. While it has no pods, it is selected
  // among the owners of theirs.
  std::vector<const SignalSeries*> Remembered() const {
    std::vector<const SignalSeries*> remembered;
    if (signals_.remembered.empty()) return remembered;
    if (!by_owner_) {
      for (const auto& engine : signals_.remembered) remembered.push_back(engine.get());
      return remembered;
    }
    SeenPods seen;
    for (const Replica& replica : workload_replicas_.replicas) {
      seen.holding.insert(seen.holding.end(), replica.pods.begin(), replica.pods.end());
    }
    for (const auto& engine : signals_.remembered) {
      seen.past.push_back(engine->pod_with_owners.get());
    }
    const absl::StatusOr<PodSelection> selection = SelectPods(trigger_, scaled_object_, seen);
    if (!selection.ok()) return remembered;
    for (const auto& engine : signals_.remembered) {
      if (selection->Has(*engine->pod_with_owners)) remembered.push_back(engine.get());
    }
    return remembered;
  }

  absl::Status CheckMetric() const {
    std::set<absl::string_view> families;
    const std::vector<std::string>* reported_by = nullptr;
    for (const SignalSeries* engine : owners_.OfThosePresent()) {
      if (engine->engine.empty()) continue;
      if (engine->reported_by.empty()) return absl::OkStatus();
      families.insert(engine->engine);
      reported_by = &engine->reported_by;
    }
    if (families.empty()) return absl::OkStatus();
    const MetricType metric =
        ReadsEngines(trigger_) ? trigger_.metric : MetricType::kEnginePressure;
    return absl::FailedPreconditionError(
        absl::StrCat("no engine in scope tells ", InfoOf(metric).name, ": ",
                     absl::StrJoin(families, " and "), families.size() == 1 ? " does" : " do",
                     " not; those that do are ", absl::StrJoin(*reported_by, ", ")));
  }

  // One that is listed no more was the workload's until then.
  absl::Time LastReadOfThoseLeft() const {
    absl::Time last_read = absl::InfinitePast();
    for (const SignalSeries* engine : remembered_) {
      last_read = std::max(last_read, engine->demand->newest_at);
    }
    for (const SignalSeries& engine : signals_.left) {
      const absl::Time read_at = LastReadAt(engine);
      if (read_at > last_read && owners_.IsOfWorkload(engine)) last_read = read_at;
    }
    return last_read;
  }

  bool HasNoAddress() const { return endpoint_is_named_ && signals_.series.empty(); }

  std::string NoAddress() const { return NoAddressText(trigger_.engine_endpoint); }

  void ReplaceByOwner() {
    for (size_t i = 0; i < workload_replicas_.replicas.size(); ++i) {
      Replica& replica = workload_replicas_.replicas[i];
      if (owners_.Of(i).empty() && (HasLeft(replica) || TakeUnmatchedThatLeft(replica))) {
        replica.samples.clear();
      } else {
        Become(owners_.Of(i), replica);
      }
    }
  }

  int64_t Present() const {
    return std::ranges::count_if(workload_replicas_.replicas, &Replica::present);
  }

  void Become(const Engines& engines, Replica& replica) {
    replica.by_engine = true;
    const std::vector<ReplicaSample> of_gpus = std::exchange(replica.samples, {});
    std::vector<ObservedSeries> observed;
    absl::Time answers_since = absl::InfiniteFuture();
    std::string gap = engines.empty() ? WhyNone(replica) : "";
    for (const SignalSeries* engine : engines) {
      observed.push_back(ObservedBy(*engine, of_gpus, replica));
      answers_since = std::min(answers_since, engine->answers_since);
      if (gap.empty()) gap = engine->gap;
    }
    replica.samples =
        SamplesOf(trigger_, observed, workload_replicas_.oldest, now_, staleness_.stale_after);
    const absl::Time seen_at = of_gpus.empty() ? now_ : of_gpus.back().at;
    if (!replica.present) {
      CutAt(seen_at, replica.samples);
    }
    if (replica.samples.empty()) replica.samples = {{.since = seen_at, .at = seen_at}};
    TakeBusyFrom(of_gpus, replica.samples);
    replica.last_gap = std::move(gap);
    SetStart(engines, answers_since, replica);
    if (IsUnlisted(engines, replica)) Unlist(replica);
    replica.covered_since = std::min(signals_.read_since, now_);
    replica.forgotten_until = absl::InfinitePast();
    if (!engines.empty()) replica.why_stale.clear();
    if (engines.size() == 1) replica.against = AgainstOf(*engines.front());
  }

  std::string AgainstOf(const SignalSeries& engine) const {
    const std::optional<double>& shared = workload_replicas_.batch_limit;
    if (!shared.has_value() || !SharesLimit(trigger_, engine)) return engine.against;
    return absl::StrCat("of the ", NumberText(*shared),
                        " that its workload's engines ran at most while others waited "
                        "(maxConcurrency is not given)");
  }

  static void CutAt(absl::Time at, std::vector<ReplicaSample>& samples) {
    std::erase_if(samples, [=](const ReplicaSample& sample) { return sample.at > at; });
  }

  static bool HasNoSample(const Replica& replica) { return replica.samples.empty(); }

  // Its pods are gone, and its engines with them, of which one was read.
  bool HasLeft(const Replica& replica) const { return !replica.present && HasServed(replica); }

  // Its pods are gone, nobody knows from which address, and so is a unmatched engine that was read
  // in its time: each is one replica's.
  bool TakeUnmatchedThatLeft(const Replica& replica) {
    if (replica.present || owners_.HasAddress(replica)) return false;
    const auto its = std::ranges::find_if(unmatched_left_at_, [&replica](absl::Time read_at) {
      return read_at >= replica.samples.front().at;
    });
    if (its == unmatched_left_at_.end()) return false;
    unmatched_left_at_.erase(its);
    return true;
  }

  // Engines that are listed no more: what they said until then tells whether the workload was
  // active, as that of pods that are gone does, and adds nothing. Their pods may be there yet. Each
  // is gone since it was last read: one that ends is listed for a while after it stopped answering.
  std::vector<Replica> Left() {
    std::vector<Replica> all;
    for (const SignalSeries& engine : signals_.left) {
      const std::optional<size_t> owner = owners_.OwnerOf(engine);
      if (!owner && !owners_.UnmatchedCount()) continue;
      Replica replica{.name = engine.name, .warm_at = engine.answers_since};
      if (IsKnownBefore(engine.answers_since)) replica.counted_since = engine.answers_since;
      if (owner) {
        replica.name = workload_replicas_.replicas[*owner].name;
        replica.ending_since = workload_replicas_.replicas[*owner].ending_since;
      }
      replica.by_engine = true;
      replica.covered_since = std::min(signals_.read_since, now_);
      ObservedSeries observed{.series = &engine, .shared_limit = workload_replicas_.batch_limit};
      const absl::Time frozen_at = LeftFrozenAt(engine, owner.has_value());
      if (frozen_at <= now_) {
        observed.frozen_since = *engine.unmoved_since;
      } else {
        replica.frozen_at = frozen_at;
      }
      replica.samples = SamplesOf(trigger_, {&observed, 1}, workload_replicas_.oldest, now_,
                                  staleness_.stale_after);
      CutAt(LastReadAt(engine), replica.samples);
      if (owner) TakeBusyFrom(workload_replicas_.replicas[*owner].samples, replica.samples);
      if (!owner) unmatched_left_at_.push_back(LastReadAt(engine));
      if (!HasNoSample(replica)) all.push_back(std::move(replica));
    }
    return all;
  }

  // Whether the engines were read for a while before that.
  bool IsKnownBefore(absl::Time at) const {
    return at > signals_.read_since + staleness_.stale_after;
  }

  // Whether it is known when all of its pods became Ready. Agents send that time, so all
  // aggregators have the same.
  static bool BecameReady(const Replica& replica) {
    return replica.warm_at != absl::InfinitePast() && !replica.pods.empty() &&
           std::ranges::all_of(replica.pods, [](const Pod* pod) { return pod->ready.has_value(); });
  }

  // Whether nothing but its engine shows that it started: readiness is not known, no engine is
  // found in it though one was looked for, and others of the workload were read. The result must
  // not depend on when this aggregator began to read.
  bool StartsUntilItAnswers(const Engines& engines, const Replica& replica) const {
    if (!by_owner_ || !engines.empty() || HasAnswered(replica)) return false;
    // An engine that is listed at an address of no pod may be its own.
    if (endpoint_is_named_ && !owners_.HasAddress(replica)) return false;
    const bool was_there_before_its_agent = replica.warm_at == absl::InfinitePast();
    const bool is_ready_known =
        std::ranges::any_of(replica.pods, [](const Pod* pod) { return pod->ready.has_value(); });
    return !was_there_before_its_agent && !is_ready_known && AnyWasRead() &&
           IsLookedForIn(replica, signals_);
  }

  bool HasAnswered(const Replica& replica) const {
    return HasServed(replica) || std::ranges::any_of(remembered_, [&](const SignalSeries* engine) {
             return owners_.IsOf(*engine, replica) &&
                    engine->demand->newest_at >= replica.held_since;
           });
  }

  // An engine that is listed no more was its own, and was read: it has started for good.
  bool HasServed(const Replica& replica) const {
    return std::ranges::any_of(signals_.left, [&](const SignalSeries& engine) {
      return owners_.IsOf(engine, replica) && LastReadAt(engine) != absl::InfinitePast();
    });
  }

  bool AnyWasRead() const {
    return LastReadOfThoseLeft() != absl::InfinitePast() ||
           std::ranges::any_of(owners_.All(), [](const SignalSeries* engine) {
             return LastReadAt(*engine) != absl::InfinitePast();
           });
  }

  // A pod has no load before it is Ready. If that time is not known, a replica counts since a time
  // that is not known either, unless its engine was looked for before it started. A pod may be
  // Ready just before the first reading of its engine: until that is late, it starts.
  void SetStart(const Engines& engines, absl::Time answers_since, Replica& replica) const {
    const bool is_known = IsKnownBefore(replica.warm_at) || BecameReady(replica);
    const bool never_answered = answers_since == absl::InfiniteFuture();
    if (never_answered) {
      replica.warm_at = StartsUntilItAnswers(engines, replica)
                            ? absl::InfiniteFuture()
                            : replica.warm_at + staleness_.stale_after;
    }
    replica.warm_at = std::min(replica.warm_at, answers_since);
    replica.counted_since =
        is_known ? std::max(replica.held_since, replica.warm_at) : absl::InfinitePast();
  }

  // A replica that served before is not listed because it ends, or is not Ready any more. Its
  // engine counts until then (Left).
  void Unlist(Replica& replica) const {
    const bool was_ready =
        replica.warm_at <= now_ &&
        std::ranges::any_of(replica.pods, [](const Pod* pod) { return pod->ready.has_value(); });
    if (!HasServed(replica) && !was_ready) {
      replica.warm_at = replica.counted_since = absl::InfiniteFuture();
      return;
    }
    replica.ending_since = std::min(replica.ending_since, now_);
  }

  // A headless Service has those alone that are Ready, and not those that end: another one serves
  // nobody, but for one that is known to be Ready and not to end. One address may be a ClusterIP,
  // behind which all of them serve.
  bool IsUnlisted(const Engines& engines, const Replica& replica) const {
    return endpoint_is_named_ && engines.empty() && !signals_.series.empty() &&
           !owners_.IsOneAddressOfSeveral() && !owners_.IsToServe(replica);
  }

  std::string WhyNone(const Replica& replica) const {
    if (!signals_.status.ok()) return std::string(signals_.status.message());
    if (HasNoAddress()) return NoAddress();
    if (endpoint_is_named_) return absl::StrCat("it is not at ", trigger_.engine_endpoint.url);
    const std::string why = WhyNotFoundIn(replica, signals_);
    return absl::StrCat("no engine is found in it", why.empty() ? "" : ": ", why);
  }

  ObservedSeries ObservedBy(const SignalSeries& engine, const std::vector<ReplicaSample>& of_gpus,
                            Replica& replica) {
    const auto unmatched = unmatched_frozen_at_.find(&engine);
    const absl::Time frozen_at = unmatched == unmatched_frozen_at_.end()
                                     ? FrozenAt(trigger_, engine, of_gpus)
                                     : unmatched->second;
    if (frozen_at > now_ || !replica.why_stale.empty()) {
      replica.frozen_at = std::min(replica.frozen_at, frozen_at);
      return {.series = &engine, .shared_limit = workload_replicas_.batch_limit};
    }
    replica.frozen = true;
    return {.series = &engine,
            .frozen_since = *engine.unmoved_since,
            .shared_limit = workload_replicas_.batch_limit};
  }

  // Once all GPUs are idle that may be its: where those are not known, never.
  absl::Time UnmatchedFrozenAt(const SignalSeries& engine) const {
    // Without owners GPUs may not be looked at before (population.cc).
    const absl::Time preallocated_at = PreallocatedAt(trigger_, engine);
    if (preallocated_at > now_) return preallocated_at;
    absl::Time at = absl::InfinitePast();
    for (size_t i = 0; i < workload_replicas_.replicas.size(); ++i) {
      const bool may_be_its = !by_owner_ || owners_.IsUnplaced(i);
      if (!may_be_its) continue;
      at = std::max(at, FrozenOn(workload_replicas_.replicas[i], engine, absl::InfiniteFuture()));
    }
    return at == absl::InfinitePast() ? absl::InfiniteFuture() : at;
  }

  // Of one that is listed no more: its requests stood for long enough while it was, and GPUs that
  // may have been its were idle. By now they may be another's.
  absl::Time LeftFrozenAt(const SignalSeries& engine, bool has_owner) const {
    const absl::Time read_at = LastReadAt(engine);
    if (PreallocatedAt(trigger_, engine) > read_at) return absl::InfiniteFuture();
    absl::Time at = absl::InfinitePast();
    for (const Replica& replica : workload_replicas_.replicas) {
      const bool may_be_its =
          has_owner ? owners_.IsOf(engine, replica) : !by_owner_ || !owners_.HasAddress(replica);
      const bool was_there = replica.samples.front().at <= read_at;
      if (may_be_its && was_there) at = std::max(at, FrozenOn(replica, engine, read_at));
    }
    return at == absl::InfinitePast() ? absl::InfiniteFuture() : at;
  }

  // By what the replica's GPUs showed until then. Those of a node that is mute nobody knows.
  absl::Time FrozenOn(const Replica& replica, const SignalSeries& engine, absl::Time until) const {
    if (!replica.why_stale.empty()) return absl::InfiniteFuture();
    const std::span<const ReplicaSample> all = replica.samples;
    const auto end = std::ranges::upper_bound(all, until, {}, &ReplicaSample::at);
    return FrozenAt(trigger_, engine, all.first(static_cast<size_t>(end - all.begin())));
  }

  void AddAllUnmatched() {
    DropUnplaced();
    for (const SignalSeries* engine : owners_.unmatched()) AddUnmatched(*engine);
    if (owners_.unmatched().empty() || !by_owner_) return;
    absl::StrAppend(&workload_replicas_.from, ", and addresses of no known pod");
  }

  // Pods whose addresses are not known are at the addresses of which no pod is known, but for those
  // that are too many: the youngest are not there yet.
  void DropUnplaced() {
    std::vector<Replica*> unplaced;
    for (size_t i = 0; i < workload_replicas_.replicas.size(); ++i) {
      if (owners_.IsUnplaced(i)) unplaced.push_back(&workload_replicas_.replicas[i]);
    }
    std::ranges::stable_sort(unplaced, {}, &Replica::held_since);
    unplaced.resize(std::min(unplaced.size(), owners_.unmatched().size()));
    for (Replica* const replica : unplaced) replica->samples.clear();
    std::erase_if(workload_replicas_.replicas, HasNoSample);
  }

  void AddUnmatched(const SignalSeries& engine) {
    Replica replica{.name = engine.name,
                    .present = true,
                    .held_since = engine.listed_since,
                    .starting_since = engine.listed_since,
                    .warm_at = engine.listed_since + trigger_.warmup};
    Become({&engine}, replica);
    workload_replicas_.replicas.insert(workload_replicas_.replicas.begin() + Present(),
                                       std::move(replica));
  }

  const Trigger& trigger_;
  const ScaledObjectRef& scaled_object_;
  const FleetHistory& fleet_;
  const absl::Time now_;
  const SignalHistory& signals_;
  const StalenessLimits& staleness_;
  Replicas& workload_replicas_;
  const bool endpoint_is_named_;
  const bool by_owner_;
  const EngineOwners owners_;
  const std::vector<const SignalSeries*> remembered_;
  const absl::Status reported_;
  std::map<const SignalSeries*, absl::Time> unmatched_frozen_at_;
  std::vector<absl::Time> unmatched_left_at_;  // when those of no replica were last read
};

}  // namespace

absl::Status ReadEnginesOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                           const FleetHistory& fleet, bool by_owner, const SignalHistory* signals,
                           const StalenessLimits& staleness, Replicas& workload_replicas) {
  const bool is_named = !trigger.engine_endpoint.url.empty();
  // Without owners nothing but its engine tells of a replica.
  const bool may_have_some =
      is_named || !by_owner || std::ranges::any_of(workload_replicas.replicas, &Replica::present);
  if (signals == nullptr) {
    if (!ReadsEngines(trigger)) return absl::OkStatus();
    return may_have_some ? absl::UnavailableError("no engine is read yet") : absl::OkStatus();
  }
  const bool unknown_yet = signals->status.code() == absl::StatusCode::kUnavailable;
  const bool matters = ReadsEngines(trigger) ? may_have_some : is_named && !unknown_yet;
  if (!signals->status.ok() && matters) return signals->status;
  if (!signals->status.ok() && !unknown_yet) return absl::OkStatus();
  EngineReplicas engines(trigger, scaled_object, fleet, by_owner, *signals, staleness,
                         workload_replicas);
  if (!engines.Speak()) {
    engines.NoteWhyNone();
    if (workload_replicas.held.Any()) engines.CollectEngines();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(engines.CheckAddresses());
  RETURN_IF_ERROR(engines.reported());
  engines.Replace();
  return absl::OkStatus();
}

}  // namespace gpuscaler

#include "scaling/engine_replicas.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "base/status_macros.h"
#include "scaling/departed_engines.h"
#include "scaling/engine_scope.h"
#include "scaling/engine_start.h"
#include "scaling/frozen_engine.h"
#include "scaling/replica_load.h"
#include "scaling/signal_samples.h"
#include "scaling/unreadable_engines.h"
#include "scaling/workload_engines.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using Engines = EngineScope::Engines;

class EngineReadingsApplier {
 public:
  EngineReadingsApplier(const EngineScope& scope, Replicas& workload_replicas)
      : scope_(scope),
        trigger_(scope.trigger),
        signals_(scope.signals),
        workload_replicas_(workload_replicas),
        metric_status_(CheckMetric()) {}

  // Returns until when readings of engines, or their absence, count if no new one comes.
  // InfiniteFuture: always. Empty: readings of GPUs count now.
  std::optional<absl::Time> EnginesCountUntil() const {
    if (ReadsEngines(trigger_)) return absl::InfiniteFuture();
    if (!metric_status_.ok()) return std::nullopt;
    absl::Time last_read = LastReadOfDeparted(scope_);
    bool any = last_read != absl::InfinitePast() || (scope_.by_owner && !signals_.status.ok());
    for (const SignalSeries* engine : scope_.All()) {
      if (!engine->reported_by.empty()) continue;
      last_read = std::max(last_read, LastReadAt(*engine));
      any = true;
    }
    // That none can be read is certain only after forget_after.
    absl::Time known_at = (last_read == absl::InfinitePast() ? signals_.read_since : last_read) +
                          scope_.inputs.staleness.forget_after;
    if (last_read != absl::InfinitePast())
      known_at = std::max(known_at, AllStartUntil(scope_, last_read));
    if (!any || scope_.now > known_at) return std::nullopt;
    return known_at;
  }

  absl::Status CheckAddresses() {
    if (!scope_.IsOneAddressOfSeveral()) return absl::OkStatus();
    const std::string what = absl::StrCat(
        trigger_.engine_endpoint.url, " leads to the one address ", signals_.series.front().address,
        ", which is not one of the ", Present(), " pods'");
    if (std::ranges::all_of(workload_replicas_.replicas, [this](const Replica& replica) {
          return !replica.present || scope_.HasAddress(replica);
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

  // FAILED_PRECONDITION: none of the workload's recognised engines will ever report the metric.
  const absl::Status& metric_status() const { return metric_status_; }

  // Notes why GPUs are read in place of engines.
  void NoteWhyNoEngine() {
    if (!metric_status_.ok()) {
      workload_replicas_.notes.emplace_back(metric_status_.message());
      return;
    }
    if (scope_.endpoint_is_named) {
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

  void CollectEngines() {
    const std::vector<Replica>& replicas = workload_replicas_.replicas;
    WorkloadEngines engines(scope_.inputs.fleet, replicas, ComputesDemand(trigger_));
    // Behind one address each reading may be of another pod, so its counters show no arrivals.
    if (scope_.CountsUnmatched() && !scope_.IsOneAddressOfSeveral()) {
      for (const SignalSeries* engine : scope_.unmatched()) engines.AddPresent(*engine, nullptr);
    }
    for (size_t i = 0; scope_.by_owner && i < replicas.size(); ++i) {
      for (const SignalSeries* engine : scope_.EnginesOf(i)) {
        const bool serves =
            replicas[i].present && replicas[i].ending_since == absl::InfiniteFuture();
        if (serves) {
          engines.AddPresent(*engine, &replicas[i]);
        } else {
          engines.AddDeparted(*engine);
        }
      }
    }
    AddDeparted(scope_, engines);
    engines.AddRecords(scope_.records());
    workload_replicas_.engines = std::move(engines).Take();
    if (trigger_.max_concurrency.has_value()) return;  // no learnt limit counts then
    workload_replicas_.batch_limit = SharedLimit(workload_replicas_.engines);
  }

  void Apply() {
    CollectEngines();
    DepartedEngines departed(scope_);
    departed_unmatched_ = std::move(departed.unmatched_read_at);
    for (const SignalSeries* engine : scope_.unmatched()) {
      unmatched_frozen_at_[engine] = UnmatchedFrozenAt(*engine);
    }
    if (scope_.by_owner) {
      ReplaceByOwner();
    } else {
      workload_replicas_.replicas.clear();
      workload_replicas_.unused.clear();
      workload_replicas_.zero_status = CheckNoneIsHidden(scope_.inputs);
    }
    absl::StrAppend(&workload_replicas_.from, workload_replicas_.from.empty() ? "" : ", ",
                    "by their engines");
    if (scope_.CountsUnmatched()) AddAllUnmatched();
    std::erase_if(workload_replicas_.replicas, HasNoSample);
    std::ranges::move(departed.replicas, std::back_inserter(workload_replicas_.replicas));
    const std::string unreadable = UnreadableEnginesText(workload_replicas_.replicas);
    if (!unreadable.empty()) workload_replicas_.notes.push_back(unreadable);
    if (HasNoAddress() && Present() == 0) workload_replicas_.notes.push_back(NoAddress());
  }

 private:
  absl::Status CheckMetric() const {
    std::set<absl::string_view> families;
    const std::vector<std::string>* reported_by = nullptr;
    for (const SignalSeries* engine : scope_.PresentEngines()) {
      if (engine->engine.empty()) continue;
      if (engine->reported_by.empty()) return absl::OkStatus();
      families.insert(engine->engine);
      reported_by = &engine->reported_by;
    }
    if (families.empty()) return absl::OkStatus();
    const MetricType metric =
        ReadsEngines(trigger_) ? trigger_.metric : MetricType::kEnginePressure;
    return absl::FailedPreconditionError(
        absl::StrCat("no engine in scope reports ", InfoOf(metric).name, ": ",
                     absl::StrJoin(families, " and "), families.size() == 1 ? " does" : " do",
                     " not; those that do are ", absl::StrJoin(*reported_by, ", ")));
  }

  bool HasNoAddress() const { return scope_.endpoint_is_named && signals_.series.empty(); }

  std::string NoAddress() const { return NoAddressText(trigger_.engine_endpoint); }

  void ReplaceByOwner() {
    for (size_t i = 0; i < workload_replicas_.replicas.size(); ++i) {
      Replica& replica = workload_replicas_.replicas[i];
      if (scope_.EnginesOf(i).empty() &&
          (HasDepartedWithEngine(replica) || TakeDepartedUnmatched(replica))) {
        replica.samples.clear();
      } else {
        ReplaceSamples(scope_.EnginesOf(i), replica);
      }
    }
  }

  int64_t Present() const {
    return std::ranges::count_if(workload_replicas_.replicas, &Replica::present);
  }

  void ReplaceSamples(const Engines& engines, Replica& replica) {
    replica.by_engine = true;
    const std::vector<ReplicaSample> gpu_samples = std::exchange(replica.samples, {});
    std::vector<ObservedSeries> observed;
    absl::Time first_read_at = absl::InfiniteFuture();
    std::string error = engines.empty() ? WhyNoEngine(replica) : "";
    for (const SignalSeries* engine : engines) {
      observed.push_back(ObserveSeries(*engine, gpu_samples, replica));
      first_read_at = std::min(first_read_at, engine->first_read_at);
      if (error.empty()) error = engine->error;
    }
    replica.samples =
        SamplesOf(trigger_, observed, workload_replicas_.oldest, scope_.now, scope_.stale_after);
    const absl::Time seen_at = gpu_samples.empty() ? scope_.now : gpu_samples.back().at;
    if (!replica.present) {
      DropSamplesAfter(seen_at, replica.samples);
    }
    if (replica.samples.empty()) replica.samples = {{.since = seen_at, .at = seen_at}};
    CopyGpuActivity(gpu_samples, replica.samples);
    replica.last_error = std::move(error);
    SetStart(scope_, engines, first_read_at, replica);
    replica.covered_since = std::min(signals_.read_since, scope_.now);
    replica.dropped_until = absl::InfinitePast();
    if (!engines.empty() && !replica.is_on_two_nodes) replica.why_stale.clear();
    if (engines.size() == 1) replica.pressure_basis = PressureBasisOf(*engines.front());
  }

  std::string PressureBasisOf(const SignalSeries& engine) const {
    const std::optional<double>& shared = workload_replicas_.batch_limit;
    if (!shared.has_value() || !SharesLimit(trigger_, engine)) return engine.pressure_basis;
    return absl::StrCat("of the ", NumberText(*shared),
                        " that its workload's engines ran at most while others waited "
                        "(maxConcurrency is not given)");
  }

  static bool HasNoSample(const Replica& replica) { return replica.samples.empty(); }

  // Returns true if its pods departed together with an engine that was read.
  bool HasDepartedWithEngine(const Replica& replica) const {
    return !replica.present && HasServed(scope_, replica);
  }

  // Returns true if the replica's pods, which have no known address, are gone, and so is an
  // unmatched engine that was read in their time. Removes that engine, because each belongs to one
  // replica.
  bool TakeDepartedUnmatched(const Replica& replica) {
    if (replica.present || scope_.HasAddress(replica)) return false;
    const auto engine = std::ranges::find_if(departed_unmatched_, [&replica](absl::Time read_at) {
      return read_at >= replica.samples.front().at;
    });
    if (engine == departed_unmatched_.end()) return false;
    departed_unmatched_.erase(engine);
    return true;
  }

  std::string WhyNoEngine(const Replica& replica) const {
    if (!signals_.status.ok()) return std::string(signals_.status.message());
    if (HasNoAddress()) return NoAddress();
    if (scope_.endpoint_is_named)
      return absl::StrCat("it is not at ", trigger_.engine_endpoint.url);
    const std::string why = WhyNotFoundIn(replica, signals_);
    return absl::StrCat("no engine is found in it", why.empty() ? "" : ": ", why);
  }

  // Sets in `replica` when it freezes, or that it is frozen.
  ObservedSeries ObserveSeries(const SignalSeries& engine,
                               const std::vector<ReplicaSample>& gpu_samples, Replica& replica) {
    const auto unmatched = unmatched_frozen_at_.find(&engine);
    const absl::Time frozen_at = unmatched == unmatched_frozen_at_.end()
                                     ? FrozenAt(trigger_, engine, gpu_samples)
                                     : unmatched->second;
    if (frozen_at > scope_.now || !replica.why_stale.empty()) {
      replica.frozen_at = std::min(replica.frozen_at, frozen_at);
      return {.series = &engine, .shared_limit = workload_replicas_.batch_limit};
    }
    replica.frozen = true;
    return {.series = &engine,
            .frozen_since = *engine.unchanged_since,
            .shared_limit = workload_replicas_.batch_limit};
  }

  // Returns when the requests of an unmatched engine count as none: they have not changed for
  // frozenWindow, and all GPUs that may be its own are idle. InfiniteFuture: GPUs are busy or
  // unknown.
  absl::Time UnmatchedFrozenAt(const SignalSeries& engine) const {
    // Without owners, GPUs may have no readings before (replicas.cc).
    const absl::Time stalled_at = StalledAt(trigger_, engine);
    if (stalled_at > scope_.now) return stalled_at;  // until then the GPUs do not matter
    absl::Time at = absl::InfinitePast();
    for (size_t i = 0; i < workload_replicas_.replicas.size(); ++i) {
      const bool may_be_own = !scope_.by_owner || scope_.HasNoEngineOrAddress(i);
      if (!may_be_own) continue;
      at = std::max(
          at, FrozenAt(trigger_, engine, workload_replicas_.replicas[i], absl::InfiniteFuture()));
    }
    return at == absl::InfinitePast() ? absl::InfiniteFuture() : at;
  }

  void AddAllUnmatched() {
    RemoveReplicasOfUnmatched();
    for (const SignalSeries* engine : scope_.unmatched()) AddUnmatched(*engine);
    if (scope_.unmatched().empty() || !scope_.by_owner) return;
    absl::StrAppend(&workload_replicas_.from, ", and addresses of no known pod");
  }

  // Removes a replica without a known address for each unmatched engine, oldest first. That engine
  // is probably its own, and is added in its place. Younger replicas beyond that number remain.
  void RemoveReplicasOfUnmatched() {
    std::vector<Replica*> unlocated;
    for (size_t i = 0; i < workload_replicas_.replicas.size(); ++i) {
      if (scope_.HasNoEngineOrAddress(i)) unlocated.push_back(&workload_replicas_.replicas[i]);
    }
    std::ranges::stable_sort(unlocated, {}, &Replica::held_since);
    unlocated.resize(std::min(unlocated.size(), scope_.unmatched().size()));
    for (Replica* const replica : unlocated) replica->samples.clear();
    std::erase_if(workload_replicas_.replicas, HasNoSample);
  }

  void AddUnmatched(const SignalSeries& engine) {
    Replica replica{.name = engine.name,
                    .present = true,
                    .held_since = engine.listed_since,
                    .starting_since = engine.listed_since,
                    .started_at = engine.listed_since + trigger_.warmup};
    ReplaceSamples({&engine}, replica);
    workload_replicas_.replicas.insert(workload_replicas_.replicas.begin() + Present(),
                                       std::move(replica));
  }

  const EngineScope& scope_;
  const Trigger& trigger_;
  const SignalHistory& signals_;
  Replicas& workload_replicas_;
  const absl::Status metric_status_;
  std::map<const SignalSeries*, absl::Time> unmatched_frozen_at_;
  std::vector<absl::Time> departed_unmatched_;  // when unmatched engines were last read
};

}  // namespace

absl::Status ApplyEngineReadings(const DecisionInputs& inputs, Replicas& workload_replicas) {
  const Trigger& trigger = inputs.trigger;
  const SignalHistory* const signals = inputs.signals;
  const bool by_owner = IsByOwner(trigger, inputs.fleet);
  const bool is_named = !trigger.engine_endpoint.url.empty();
  // Without owners only its engine shows a replica.
  const bool may_have_some =
      is_named || !by_owner || std::ranges::any_of(workload_replicas.replicas, &Replica::present);
  if (signals == nullptr) {
    if (!ReadsEngines(trigger)) return absl::OkStatus();
    return may_have_some ? absl::UnavailableError("no engine is read yet") : absl::OkStatus();
  }
  const bool not_known_yet = signals->status.code() == absl::StatusCode::kUnavailable;
  const bool matters = ReadsEngines(trigger) ? may_have_some : is_named && !not_known_yet;
  if (!signals->status.ok() && matters) return signals->status;
  if (!signals->status.ok() && !not_known_yet) return absl::OkStatus();
  const EngineScope scope(inputs, workload_replicas);
  EngineReadingsApplier engines(scope, workload_replicas);
  const std::optional<absl::Time> engines_count_until = engines.EnginesCountUntil();
  if (!engines_count_until.has_value()) {
    engines.NoteWhyNoEngine();
    if (workload_replicas.held.Any()) engines.CollectEngines();
    return absl::OkStatus();
  }
  workload_replicas.changes_at = *engines_count_until;
  RETURN_IF_ERROR(engines.CheckAddresses());
  RETURN_IF_ERROR(engines.metric_status());
  engines.Apply();
  return absl::OkStatus();
}

}  // namespace gpuscaler

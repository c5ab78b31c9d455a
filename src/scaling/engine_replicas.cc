#include "scaling/engine_replicas.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "scaling/frozen_engine.h"
#include "scaling/hidden_engines.h"
#include "scaling/signal_samples.h"
#include "scaling/silent_engines.h"
#include "scaling/trigger_source.h"

namespace gpuscaler {
namespace {

using Engines = std::vector<const SignalSeries*>;
using PodName = std::pair<absl::string_view, absl::string_view>;  // namespace, name

// As nodes know them now.
std::map<PodName, const Pod*> PodsOf(const FleetHistory& fleet) {
  std::map<PodName, const Pod*> pods;
  for (const NodeTrack& track : fleet.nodes) {
    if (track.history->attributed == nullptr) continue;
    for (const Pod& pod : track.history->attributed->pods) {
      pods[{pod.namespace_name, pod.name}] = &pod;
    }
  }
  return pods;
}

class EngineReplicas {
 public:
  EngineReplicas(const Trigger& trigger, const FleetHistory& fleet, bool by_owner,
                 const SignalHistory& signals, const Patience& patience, Population& population)
      : trigger_(trigger),
        now_(fleet.now),
        signals_(signals),
        patience_(patience),
        population_(population),
        pods_(PodsOf(fleet)),
        endpoint_is_named_(!trigger.engine_endpoint.url.empty()),
        by_owner_(by_owner) {
    Join();
  }

  // Its engines' numbers, or the want of them, are what the workload counts.
  bool Speak() {
    if (ReadsEngines(trigger_)) return true;
    if (!by_owner_ && strays_.empty()) return false;
    absl::Time last_read = absl::InfinitePast();
    bool any = !signals_.status.ok();
    for (const SignalSeries* engine : All()) {
      if (!engine->told_by.empty()) continue;
      last_read = std::max(last_read, LastReadAt(*engine));
      any = true;
    }
    // That none can be read is known once they were asked for so long.
    const absl::Time known_at =
        (last_read == absl::InfinitePast() ? signals_.read_since : last_read) +
        patience_.forget_after;
    if (!any || now_ > known_at) return false;
    population_.changes_at = known_at;
    return true;
  }

  absl::Status CheckAddresses() {
    if (!IsOneAddressOfSeveral()) return absl::OkStatus();
    const std::string what = absl::StrCat(
        trigger_.engine_endpoint.url, " leads to the one address ", signals_.series.front().address,
        ", which is not one of the ", Present(), " pods'");
    if (std::ranges::all_of(population_.replicas, [this](const Replica& replica) {
          return !replica.present || HasAddress(replica);
        })) {
      return absl::FailedPreconditionError(
          absl::StrCat(what,
                       ": a Service with a ClusterIP answers for one of them at random; name "
                       "a headless one (clusterIP: None)"));
    }
    population_.notes.push_back(
        absl::StrCat(what,
                     " as far as is known: behind a Service with a ClusterIP only one of "
                     "them would be read; name a headless one (clusterIP: None)"));
    return absl::OkStatus();
  }

  // That none of the workload's engines will ever have the number, as far as they are recognised.
  absl::Status CheckMetric() const {
    std::set<absl::string_view> families;
    const std::vector<std::string>* told_by = nullptr;
    for (const SignalSeries* engine : OfThosePresent()) {
      if (engine->engine.empty()) continue;
      if (engine->told_by.empty()) return absl::OkStatus();
      families.insert(engine->engine);
      told_by = &engine->told_by;
    }
    if (families.empty()) return absl::OkStatus();
    const MetricType metric =
        ReadsEngines(trigger_) ? trigger_.metric : MetricType::kEnginePressure;
    return absl::FailedPreconditionError(absl::StrCat(
        "no engine in scope tells ", InfoOf(metric).name, ": ", absl::StrJoin(families, " and "),
        " never ", families.size() == 1 ? "does" : "do", "; those that do are ",
        absl::StrJoin(*told_by, ", ")));
  }

  // Where its GPUs speak for the workload: why its engines do not.
  void NoteWhyNone() {
    if (const absl::Status told = CheckMetric(); !told.ok()) {
      population_.notes.emplace_back(told.message());
      return;
    }
    if (endpoint_is_named_) {
      if (HasNoAddress()) population_.notes.push_back(NoAddress());
      return;
    }
    for (const Replica& replica : population_.replicas) {
      const std::string why = replica.present ? WhyNotFoundIn(replica) : "";
      if (why.empty()) continue;
      population_.notes.push_back(absl::StrCat("no engine is found in ", replica.name, ": ", why));
      return;
    }
  }

  void Replace() {
    const std::vector<Replica> left = Left();
    for (const SignalSeries* engine : strays_) strays_frozen_at_[engine] = StrayFrozenAt(*engine);
    for (size_t i = 0; i < engines_of_.size(); ++i) {
      Replica& replica = population_.replicas[i];
      if (engines_of_[i].empty() && HasLeft(replica)) {
        replica.samples.clear();
      } else {
        Become(engines_of_[i], replica);
      }
    }
    if (!by_owner_) {
      population_.replicas.clear();
      population_.idle.clear();
      population_.unseen = absl::OkStatus();
    }
    absl::StrAppend(&population_.from, population_.from.empty() ? "" : ", ", "by their engines");
    if (!by_owner_ || endpoint_is_named_) AddStrays();
    std::erase_if(population_.replicas, HasNoSample);
    std::ranges::copy(left, std::back_inserter(population_.replicas));
    const std::string silent = SilentText(population_.replicas);
    if (!silent.empty()) population_.notes.push_back(silent);
    if (HasNoAddress() && Present() == 0) population_.notes.push_back(NoAddress());
  }

 private:
  bool HasNoAddress() const { return endpoint_is_named_ && signals_.series.empty(); }

  std::string NoAddress() const { return NoAddressText(trigger_.engine_endpoint); }

  // Every engine to its replica, by pod or by address.
  void Join() {
    engines_of_.resize(by_owner_ ? population_.replicas.size() : 0);
    for (const SignalSeries& engine : signals_.series) {
      const auto owner = OwnerOf(engine);
      if (owner == population_.replicas.end()) {
        strays_.push_back(&engine);
      } else {
        engines_of_[static_cast<size_t>(owner - population_.replicas.begin())].push_back(&engine);
      }
    }
    // The only address of the only pod is its own, or leads to it.
    const bool one_each = endpoint_is_named_ && by_owner_ && signals_.series.size() == 1 &&
                          strays_.size() == 1 && Present() == 1;
    if (!one_each) return;
    const auto present = std::ranges::find_if(population_.replicas, &Replica::present);
    engines_of_[static_cast<size_t>(present - population_.replicas.begin())] = std::move(strays_);
    strays_.clear();
  }

  bool IsOf(const SignalSeries& engine, const Replica& replica) const {
    return std::ranges::any_of(replica.pods, [&](const Pod* pod) {
      const bool by_name = !engine.pod.empty() && engine.pod == pod->name &&
                           engine.namespace_name == pod->namespace_name;
      return by_name || (!engine.address.empty() && engine.address == AddressOf(*pod));
    });
  }

  absl::string_view AddressOf(const Pod& pod) const {
    const std::string& known = AsKnownNow(pod).address;
    return known.empty() ? pod.address : known;
  }

  const Pod& AsKnownNow(const Pod& pod) const {
    const auto found = pods_.find({pod.namespace_name, pod.name});
    return found == pods_.end() ? pod : *found->second;
  }

  bool HasAddress(const Replica& replica) const {
    return std::ranges::any_of(replica.pods,
                               [this](const Pod* pod) { return !AddressOf(*pod).empty(); });
  }

  // Those that are the workload's.
  Engines All() const {
    Engines all = StraysThatCount();
    for (const Engines& engines : engines_of_)
      all.insert(all.end(), engines.begin(), engines.end());
    return all;
  }

  Engines OfThosePresent() const {
    Engines engines = StraysThatCount();
    for (size_t i = 0; i < engines_of_.size(); ++i) {
      if (!population_.replicas[i].present) continue;
      engines.insert(engines.end(), engines_of_[i].begin(), engines_of_[i].end());
    }
    return engines;
  }

  Engines StraysThatCount() const { return !by_owner_ || endpoint_is_named_ ? strays_ : Engines(); }

  // And that of none of them, as far as theirs are known.
  bool IsOneAddressOfSeveral() const {
    return endpoint_is_named_ && by_owner_ && signals_.series.size() == 1 && !strays_.empty() &&
           Present() >= 2;
  }

  int64_t Present() const { return std::ranges::count_if(population_.replicas, &Replica::present); }

  void Become(const Engines& engines, Replica& replica) {
    replica.by_engine = true;
    const std::vector<ReplicaSample> of_gpus = std::exchange(replica.samples, {});
    std::vector<SeriesSaid> said;
    absl::Time answers_since = absl::InfiniteFuture();
    std::string gap = engines.empty() ? WhyNone(replica) : "";
    for (const SignalSeries* engine : engines) {
      said.push_back(SaidBy(*engine, of_gpus, replica));
      answers_since = std::min(answers_since, engine->answers_since);
      if (gap.empty()) gap = engine->gap;
    }
    replica.samples = SamplesOf(trigger_, said, now_, patience_);
    const absl::Time seen_at = of_gpus.empty() ? now_ : of_gpus.back().at;
    if (!replica.present) {
      CutAt(seen_at, replica.samples);
    }
    if (replica.samples.empty()) replica.samples = {{.since = seen_at, .at = seen_at}};
    TakeBusyFrom(of_gpus, replica.samples);
    replica.last_gap = std::move(gap);
    replica.warm_at = IsUnlisted(engines, replica) ? absl::InfiniteFuture()
                                                   : std::min(replica.warm_at, answers_since);
    replica.covered_since = std::min(signals_.read_since, now_);
    replica.forgotten_until = absl::InfinitePast();
    if (!engines.empty()) replica.mute.clear();
    if (engines.size() == 1) replica.against = engines.front()->against;
  }

  static void CutAt(absl::Time at, std::vector<ReplicaSample>& samples) {
    std::erase_if(samples, [=](const ReplicaSample& sample) { return sample.at > at; });
  }

  static bool HasNoSample(const Replica& replica) { return replica.samples.empty(); }

  // Its pods are gone, and its engines with them, of which one was read.
  bool HasLeft(const Replica& replica) const {
    return !replica.present && std::ranges::any_of(signals_.left, [&](const SignalSeries& engine) {
      return IsOf(engine, replica) && LastReadAt(engine) != absl::InfinitePast();
    });
  }

  // Engines that are listed no more: what they said until then tells whether the workload was
  // active, as that of pods that are gone does, and adds nothing. Their pods may be there yet. Each
  // is gone since it was last read: one that ends is listed for a while after it stopped answering.
  std::vector<Replica> Left() const {
    std::vector<Replica> all;
    for (const SignalSeries& engine : signals_.left) {
      const auto owner = OwnerOf(engine);
      const bool has_owner = owner != population_.replicas.end();
      if (!has_owner && by_owner_ && !endpoint_is_named_) continue;
      Replica replica{.name = engine.name, .warm_at = engine.answers_since};
      if (has_owner) replica.name = owner->name;
      replica.by_engine = true;
      replica.covered_since = std::min(signals_.read_since, now_);
      const SeriesSaid said{.series = &engine};
      replica.samples = SamplesOf(trigger_, {&said, 1}, now_, patience_);
      CutAt(LastReadAt(engine), replica.samples);
      if (has_owner) TakeBusyFrom(owner->samples, replica.samples);
      if (!HasNoSample(replica)) all.push_back(std::move(replica));
    }
    return all;
  }

  std::vector<Replica>::iterator OwnerOf(const SignalSeries& engine) const {
    return std::ranges::find_if(population_.replicas, [&](const Replica& replica) {
      return by_owner_ && IsOf(engine, replica);
    });
  }

  // A headless Service has those alone that are Ready, and not those that end: another one serves
  // nobody. One address may be a ClusterIP, behind which all of them serve.
  bool IsUnlisted(const Engines& engines, const Replica& replica) const {
    return endpoint_is_named_ && engines.empty() && !signals_.series.empty() &&
           !IsOneAddressOfSeveral() && !IsToServe(replica);
  }

  // Ready, and it does not end: that it is not listed is no reason to believe that it serves
  // nobody.
  bool IsToServe(const Replica& replica) const {
    return !replica.pods.empty() && std::ranges::all_of(replica.pods, [this](const Pod* pod) {
      const Pod& now = AsKnownNow(*pod);
      return now.ready == true && now.is_ending == false;
    });
  }

  std::string WhyNone(const Replica& replica) const {
    if (!signals_.status.ok()) return std::string(signals_.status.message());
    if (HasNoAddress()) return NoAddress();
    if (endpoint_is_named_) return absl::StrCat("it is not at ", trigger_.engine_endpoint.url);
    const std::string why = WhyNotFoundIn(replica);
    return absl::StrCat("no engine is found in it", why.empty() ? "" : ": ", why);
  }

  // Empty: not told.
  std::string WhyNotFoundIn(const Replica& replica) const {
    if (signals_.without == nullptr) return "";
    const auto found = std::ranges::find_if(
        *signals_.without, [&](const WithoutEngine& each) { return Concerns(each, replica); });
    return found == signals_.without->end() ? "" : found->why;
  }

  static bool Concerns(const WithoutEngine& without, const Replica& replica) {
    if (without.pod.empty()) {
      return std::ranges::find(replica.nodes, without.node) != replica.nodes.end();
    }
    return std::ranges::any_of(replica.pods, [&without](const Pod* pod) {
      return pod->name == without.pod && pod->namespace_name == without.namespace_name;
    });
  }

  SeriesSaid SaidBy(const SignalSeries& engine, const std::vector<ReplicaSample>& of_gpus,
                    Replica& replica) {
    const auto stray = strays_frozen_at_.find(&engine);
    const absl::Time frozen_at =
        stray == strays_frozen_at_.end() ? FrozenAt(trigger_, engine, of_gpus) : stray->second;
    if (frozen_at > now_ || !replica.mute.empty()) {
      replica.frozen_at = std::min(replica.frozen_at, frozen_at);
      return {.series = &engine};
    }
    replica.frozen = true;
    return {.series = &engine, .frozen_since = *engine.unmoved_since};
  }

  // Once all GPUs are idle that may be its: where those are not known, never.
  absl::Time StrayFrozenAt(const SignalSeries& engine) const {
    absl::Time at = absl::InfinitePast();
    for (size_t i = 0; i < population_.replicas.size(); ++i) {
      const bool may_be_its = !by_owner_ || IsUnplaced(i);
      if (!may_be_its) continue;
      at = std::max(at, FrozenAt(trigger_, engine, population_.replicas[i].samples));
    }
    return at == absl::InfinitePast() ? absl::InfiniteFuture() : at;
  }

  // Its pods are there, and nobody knows at which address.
  bool IsUnplaced(size_t index) const {
    const Replica& replica = population_.replicas[index];
    return replica.present && engines_of_[index].empty() && !HasAddress(replica);
  }

  void AddStrays() {
    DropUnplaced();
    for (const SignalSeries* engine : strays_) AddStray(*engine);
    if (strays_.empty() || !by_owner_) return;
    absl::StrAppend(&population_.from, ", and addresses of no known pod");
  }

  // Pods whose addresses are not known are at the addresses of which no pod is known, but for those
  // that are too many: the youngest are not there yet.
  void DropUnplaced() {
    std::vector<Replica*> unplaced;
    for (size_t i = 0; i < engines_of_.size(); ++i) {
      if (IsUnplaced(i)) unplaced.push_back(&population_.replicas[i]);
    }
    std::ranges::stable_sort(unplaced, {}, &Replica::held_since);
    unplaced.resize(std::min(unplaced.size(), strays_.size()));
    for (Replica* const replica : unplaced) replica->samples.clear();
    std::erase_if(population_.replicas, HasNoSample);
  }

  void AddStray(const SignalSeries& engine) {
    Replica replica{.name = engine.name,
                    .present = true,
                    .held_since = engine.listed_since,
                    .warm_at = engine.listed_since + trigger_.warmup};
    Become({&engine}, replica);
    population_.replicas.insert(population_.replicas.begin() + Present(), std::move(replica));
  }

  const Trigger& trigger_;
  const absl::Time now_;
  const SignalHistory& signals_;
  const Patience& patience_;
  Population& population_;
  const std::map<PodName, const Pod*> pods_;
  const bool endpoint_is_named_;
  const bool by_owner_;
  std::vector<Engines> engines_of_;  // of each replica
  Engines strays_;                   // of no replica
  std::map<const SignalSeries*, absl::Time> strays_frozen_at_;
};

}  // namespace

absl::Status ReadEnginesOf(const Trigger& trigger, const Asker& asker, const FleetHistory& fleet,
                           bool by_owner, const SignalHistory* signals, const Patience& patience,
                           Population& population) {
  const bool is_named = !trigger.engine_endpoint.url.empty();
  // Without owners nothing but its engine tells of a replica.
  const bool may_have_some =
      is_named || !by_owner || std::ranges::any_of(population.replicas, &Replica::present);
  if (signals == nullptr) {
    if (!ReadsEngines(trigger)) return absl::OkStatus();
    return may_have_some ? absl::UnavailableError("no engine is read yet") : absl::OkStatus();
  }
  const bool unknown_yet = signals->status.code() == absl::StatusCode::kUnavailable;
  const bool matters = ReadsEngines(trigger) ? may_have_some : is_named && !unknown_yet;
  if (!signals->status.ok() && matters) return signals->status;
  if (!signals->status.ok() && !unknown_yet) return absl::OkStatus();
  if (!by_owner) RETURN_IF_ERROR(CheckNoneIsHidden(trigger, asker, fleet, *signals));
  EngineReplicas engines(trigger, fleet, by_owner, *signals, patience, population);
  if (!engines.Speak()) {
    engines.NoteWhyNone();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(engines.CheckAddresses());
  RETURN_IF_ERROR(engines.CheckMetric());
  engines.Replace();
  return absl::OkStatus();
}

}  // namespace gpuscaler

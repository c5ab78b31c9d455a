#include "serve/judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "scaling/node_view.h"
#include "scaling/own_pods.h"
#include "signal/source_name.h"
#include "signal/source_place.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// Kubernetes allows no longer one; a client that is not KEDA may send 64 KiB.
constexpr size_t kLongestName = 253;

absl::string_view Cut(absl::string_view text) { return text.substr(0, kLongestName); }

bool IsCostly(const MetricTypeInfo& metric) { return metric.costly != CostlyReadings(); }

// A costly reading that nobody wanted when the snapshot was taken.
bool Lacks(const NodeSnapshot& snapshot, const MetricTypeInfo& metric) {
  return std::ranges::any_of(snapshot.gpus, [&metric](const GpuSample& gpu) {
    const GpuGap* const gap = FindGap(gpu, FieldOf(metric.reading));
    return gap != nullptr && gap->reason == GpuGap::Reason::kNotWanted;
  });
}

// One of its nodes does that reads: what a silent one last read stays as it is.
bool Lacks(const FleetHistory& fleet, const MetricTypeInfo& metric, const Patience& patience) {
  if (!IsCostly(metric)) return false;
  return std::ranges::any_of(fleet.nodes, [&](const NodeTrack& track) {
    return track.silence.empty() && WhyMute(track, fleet.now, patience).empty() &&
           Lacks(track.history->Newest(), metric);
  });
}

// Signals come between two readings of GPUs: what was said by `now` is decided on.
FleetReader::Fleet AsOf(absl::Time now, FleetReader::Fleet fleet) {
  if (fleet->now >= now) return fleet;
  auto later = std::make_shared<FleetHistory>(*fleet);
  later->now = now;
  return later;
}

// A workload is concerned by the nodes that it is on, who counts all engines by all nodes.
void AwaitNodesOf(const ParsedTrigger& parsed, const FleetHistory& fleet, SignalHistory& signals) {
  const bool of_workload = parsed.trigger->scope == Scope::kWorkload;
  const auto concerns = [&](const std::string& node) {
    return !of_workload ||
           std::ranges::find(fleet.nodes, node, &NodeTrack::node) != fleet.nodes.end();
  };
  AwaitNodes(concerns, signals);
}

// Its endpoint leads nowhere, or none is found: GPUs in use tell whether that is to be believed.
bool IsWithoutEngine(const ParsedTrigger& parsed, bool none_listed) {
  return none_listed && ReadsEngines(*parsed.trigger);
}

bool IsNone(const SignalHistory& signals) { return signals.status.ok() && signals.series.empty(); }

// Calls `look` with which engines count.
template <typename Look>
auto WithEnginesOf(const OwnPods* own, const Look& look) {
  return look([own](const EnginePlace& place) {
    return own == nullptr || own->MayHave(place.pod, place.address);
  });
}

// The reason for an outcome other than a plain value.
std::string WhyOf(const Decision& decision) {
  if (!decision.status.ok()) return std::string(decision.status.message());
  for (const ReplicaShare& share : decision.shares) {
    if (share.state == ReplicaShare::State::kUnreadable) {
      return absl::StrCat(share.name, " ", share.because);
    }
  }
  return decision.notes.empty() ? "" : decision.notes.front();
}

}  // namespace

Judge::Judge(const Patience& patience, const Clock& clock, const FleetReader& fleets,
             Leases& leases, const ProfileStore& profiles, RequestMetrics& metrics,
             std::function<void()> wake_sampler, const SignalAccess& signals)
    : patience_(patience),
      clock_(clock),
      fleets_(fleets),
      leases_(leases),
      profiles_(profiles),
      metrics_(metrics),
      log_limit_(clock, 20, absl::Seconds(10)),
      wake_sampler_(std::move(wake_sampler)),
      signals_(signals) {}

Judge::Parsed Judge::Parse(CachedTrigger& trigger) const {
  const CachedTrigger::Parsing parsing = trigger.Parse(
      profiles_.Get(),
      [this](const Trigger& asked, const Asker& asker) { return SourceFor(asked, asker); });
  if (!parsing.parsed->trigger.ok()) {
    if (parsing.is_new) metrics_.Decided(Outcome::kBadMetadata);
    LogBadMetadata(trigger, parsing.parsed->bad_keys);
  }
  return parsing.parsed;
}

absl::StatusOr<std::optional<SignalSource>> Judge::SourceFor(const Trigger& trigger,
                                                             const Asker& asker) const {
  std::optional<SignalSource> source = SourceOf(trigger, asker.namespace_name);
  if (!source.has_value()) return source;
  const bool is_found = std::holds_alternative<DiscoveredEngines>(source->place);
  if (is_found && !signals_.finds_engines) {
    if (!ReadsEngines(trigger)) return std::nullopt;
    return absl::InvalidArgumentError(
        "engineEndpoint is missing, and this scaler finds no engines by itself: name the "
        "workload's headless Service, as http://NAME:PORT, or let it find them "
        "(--discover-engines, agent.discoverEngines in the chart)");
  }
  RETURN_IF_ERROR(CheckSource(*source, signals_.rules));
  return source;
}

std::optional<int64_t> Judge::MaySay(CachedTrigger& trigger, Outcome outcome) const {
  if (trigger.said() == outcome) return std::nullopt;
  const std::optional<int64_t> dropped = log_limit_.Pass();
  return dropped && trigger.Say(outcome) ? dropped : std::nullopt;
}

void Judge::Report(CachedTrigger& trigger, Outcome outcome, absl::string_view why) const {
  metrics_.Decided(outcome);
  const std::optional<int64_t> dropped = MaySay(trigger, outcome);
  if (!dropped) return;
  Log(outcome == Outcome::kValue ? LogLevel::kInfo : LogLevel::kWarn, "trigger_outcome",
      {{"namespace", Cut(trigger.namespace_name())},
       {"scaledobject", Cut(trigger.name())},
       {"outcome", Name(outcome)},
       {"why", why},
       {"dropped", *dropped}});
}

// Not the values: one under a mistyped key may be a secret. KEDA's events have them.
void Judge::LogBadMetadata(CachedTrigger& trigger, absl::string_view keys) const {
  const std::optional<int64_t> dropped = MaySay(trigger, Outcome::kBadMetadata);
  if (!dropped) return;
  LogWarn("trigger_outcome", {{"namespace", Cut(trigger.namespace_name())},
                              {"scaledobject", Cut(trigger.name())},
                              {"outcome", Name(Outcome::kBadMetadata)},
                              {"key", Cut(keys)},
                              {"why", "kubectl describe scaledobject says what is wrong"},
                              {"dropped", *dropped}});
}

void Judge::LogDoubt(CachedTrigger& trigger, const Doubt& doubt) const {
  if (doubt.about == Doubt::About::kNothing || trigger.HasSaid(doubt.about)) return;
  const std::optional<int64_t> dropped = log_limit_.Pass();
  if (!dropped || !trigger.Say(doubt.about)) return;
  LogWarn("trigger_doubt", {{"namespace", Cut(trigger.namespace_name())},
                            {"scaledobject", Cut(trigger.name())},
                            {"why", doubt.text},
                            {"dropped", *dropped}});
}

void Judge::Unanswered(CachedTrigger& trigger, const absl::Status& why) const {
  Report(trigger, Outcome::kUnavailable, why.message());
}

void Judge::Renew(const CachedTrigger& trigger, const ParsedTrigger& parsed,
                  absl::Time until) const {
  const Trigger& asked = *parsed.trigger;
  const MetricTypeInfo& metric = InfoOf(asked.metric);
  if (IsCostly(metric)) leases_.Renew(metric.costly, until);
  const bool of_workload = asked.scope == Scope::kWorkload;
  leases_.RenewLookBack(of_workload ? trigger.namespaces() : std::vector<std::string>(),
                        LookBack(asked), clock_.Now(), until);
  if (signals_.store == nullptr || !parsed.source.has_value()) return;
  const absl::Status wanted =
      signals_.store->Want(*parsed.source, QuestionOf(asked, patience_), clock_.Now(), until);
  wanted.IgnoreError();  // where there is no room its history says so
}

void Judge::Want(CachedTrigger& trigger, const ParsedTrigger& parsed) const {
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  const bool has_enough = !IsCostly(metric) && LookBack(*parsed.trigger) <= kShortestLookBack;
  if (has_enough && !parsed.source.has_value()) return;
  Renew(trigger, parsed, trigger.LeaseFrom(clock_.Now()));
  if (!IsCostly(metric)) return;
  const auto fleet = FleetOf(parsed, /*none_listed=*/false);
  if (fleet.ok() && Lacks(**fleet, metric, patience_)) wake_sampler_();
}

void Judge::Hold(const CachedTrigger& trigger, const ParsedTrigger& parsed) const {
  Renew(trigger, parsed, clock_.Now() + kShortestLease);
}

bool Judge::ReadsSignals(const ParsedTrigger& parsed) const {
  return signals_.store != nullptr && parsed.source.has_value();
}

absl::StatusOr<FleetReader::Fleet> Judge::FleetOf(const ParsedTrigger& parsed,
                                                  bool none_listed) const {
  const absl::Time now = clock_.Now();
  if (!parsed.NeedsNodes() && !IsWithoutEngine(parsed, none_listed)) {
    return std::make_shared<const FleetHistory>(FleetHistory{.now = now});
  }
  auto fleet =
      parsed.trigger->scope == Scope::kWorkload ? fleets_.Of(parsed.wanted) : fleets_.All();
  if (!fleet.ok() || !parsed.source.has_value()) return fleet;
  return AsOf(now, *std::move(fleet));
}

absl::StatusOr<FleetReader::Fleet> Judge::ReadableFleetOf(const ParsedTrigger& parsed,
                                                          bool none_listed) const {
  auto fleet = FleetOf(parsed, none_listed);
  if (!fleet.ok()) return fleet;
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  if (!Lacks(**fleet, metric, patience_)) return fleet;
  return absl::UnavailableError(
      absl::StrCat(metric.name, " is read only while it is asked for: not read yet"));
}

SignalHistory Judge::SignalsOf(const ParsedTrigger& parsed, const OwnPods* own) const {
  const EngineQuestion question = QuestionOf(*parsed.trigger, patience_);
  return WithEnginesOf(own, [&](SignalStore::EngineFilter counts) {
    return signals_.store->Of(*parsed.source, question, clock_.Now(), counts);
  });
}

absl::StatusOr<Judge::Grounds> Judge::GroundsOf(const CachedTrigger& trigger,
                                                const ParsedTrigger& parsed,
                                                const FleetReader::Fleet& fleet) const {
  auto own = OwnPodsOf(*parsed.trigger, trigger.asker(), *fleet);
  Grounds grounds{.heard = {.history = SignalsOf(parsed, own.get()), .own = own}, .fleet = fleet};
  ASSIGN_OR_RETURN(grounds.fleet, ReadableFleetOf(parsed, IsNone(grounds.heard.history)));
  if (own == nullptr || grounds.fleet->generation == fleet->generation) return grounds;
  // Others may be its own by now, and how often that goes on nobody can tell.
  grounds.heard = {.history = SignalsOf(parsed, nullptr), .own = nullptr};
  ASSIGN_OR_RETURN(grounds.fleet, ReadableFleetOf(parsed, IsNone(grounds.heard.history)));
  return grounds;
}

Judge::Judged Judge::Try(Question question, CachedTrigger& trigger, const Parsed& parsed) const {
  if (ReadsSignals(*parsed)) return TryOnSignals(question, trigger, parsed);
  ASSIGN_OR_RETURN(const auto fleet, ReadableFleetOf(*parsed, /*none_listed=*/false));
  return Reported(trigger, trigger.Judge(question, parsed, *fleet, patience_));
}

// Whether its source has news costs no look at what was said. By time alone a verdict is right for
// as long as it says (an average over readings that differ for no time at all), and what it has
// waited for is not awaited again.
Judge::Judged Judge::TryOnSignals(Question question, CachedTrigger& trigger,
                                  const Parsed& parsed) const {
  const std::shared_ptr<const Verdict> verdict = trigger.verdict();
  const OwnPods* const own = verdict == nullptr ? nullptr : verdict->own.get();
  const SignalNews news = WithEnginesOf(own, [&](SignalStore::EngineFilter counts) {
    return signals_.store->NewsOf(*parsed->source, counts);
  });
  ASSIGN_OR_RETURN(const auto fleet, ReadableFleetOf(*parsed, news.is_none));
  const auto standing = trigger.Standing(question, *parsed, *fleet, verdict, news.generation);
  if (standing) return *standing;

  ASSIGN_OR_RETURN(Grounds grounds, GroundsOf(trigger, *parsed, fleet));
  SignalHistory& history = grounds.heard.history;
  AwaitNodesOf(*parsed, *grounds.fleet, history);
  if (history.is_awaited) {
    return absl::UnavailableError(absl::StrCat(NameOf(*parsed->source), ": not read yet"));
  }
  return Reported(trigger,
                  trigger.Judge(question, parsed, *grounds.fleet, patience_, &grounds.heard));
}

Judgement Judge::Reported(CachedTrigger& trigger, Judgement judgement) const {
  if (judgement.is_new) {
    const Decision& decision = judgement.verdict->decision;
    Report(trigger, OutcomeOf(decision), WhyOf(decision));
    LogDoubt(trigger, decision.doubt);
  }
  return judgement;
}

}  // namespace gpuscaler

#include "serve/trigger_evaluator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "scaling/node_view.h"
#include "scaling/workload_pod_names.h"
#include "signal/source_name.h"
#include "signal/source_place.h"
#include "trigger/recommended_profile.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// The limit of Kubernetes. Clients other than KEDA may send 64 KiB.
constexpr size_t kLongestLogged = 253;

absl::string_view Truncated(absl::string_view text) { return text.substr(0, kLongestLogged); }

bool IsCostly(const MetricTypeInfo& metric) { return metric.costly != CostlyReadings(); }

// Returns true if the snapshot has no reading of `metric` because no lease requested it.
bool NeedsCostlyReading(const NodeSnapshot& snapshot, const MetricTypeInfo& metric) {
  return std::ranges::any_of(snapshot.gpus, [&metric](const GpuSample& gpu) {
    const GpuGap* const gap = FindGap(gpu, FieldOf(metric.reading));
    return gap != nullptr && gap->reason == GpuGap::Reason::kNotRequested;
  });
}

// Returns true if any node that still sends readings lacks one of `metric`. A disconnected node
// sends none.
bool NeedsCostlyReading(const FleetHistory& fleet, const MetricTypeInfo& metric,
                        const StalenessLimits& staleness) {
  if (!IsCostly(metric)) return false;
  return std::ranges::any_of(fleet.nodes, [&](const NodeState& state) {
    return state.why_disconnected.empty() && WhyStale(state, fleet.now, staleness).empty() &&
           NeedsCostlyReading(state.history->Newest(), metric);
  });
}

// Returns `fleet` with the time of decision set to `now`: signals arrive between two readings of
// GPUs, and those received by `now` count.
FleetReader::FleetPtr AsOf(absl::Time now, FleetReader::FleetPtr fleet) {
  if (fleet->now >= now) return fleet;
  auto later = std::make_shared<FleetHistory>(*fleet);
  later->now = now;
  return later;
}

// Marks the signals as awaited while a node that may have the workload's engines has not reported.
// Every node may have them if the trigger counts all engines. So may every node if the workload has
// no replica and a gateway holds its requests: any node may have the capacity records.
void AwaitNodesOf(const ParsedTrigger& parsed, const FleetHistory& fleet,
                  const WorkloadPodNames* own, SignalHistory& signals) {
  const bool is_workload_scope = parsed.trigger->scope == Scope::kWorkload;
  const bool is_scaled_to_zero =
      own != nullptr && own->empty() && CountsHeldRequests(*parsed.trigger);
  const auto is_awaited = [&](const std::string& node) {
    return !is_workload_scope || is_scaled_to_zero ||
           std::ranges::find(fleet.nodes, node, &NodeState::node) != fleet.nodes.end();
  };
  MarkAwaited(is_awaited, signals);
}

// Returns true if the endpoint has no address or no engine is found. GPUs in use then show whether
// engines run nevertheless.
bool IsWithoutEngine(const ParsedTrigger& parsed, bool source_is_empty) {
  return source_is_empty && ReadsEngines(*parsed.trigger);
}

bool IsEmpty(const SignalHistory& signals) { return signals.status.ok() && signals.series.empty(); }

// Calls `call` with a filter of the engines that count. EngineFilter does not own its function, so
// the filter must live during the call.
template <typename Call>
auto WithEnginesOf(const WorkloadPodNames* own, const Call& call) {
  return call([own](const EngineAddress& place) {
    return own == nullptr || own->MayHave(place.pod, place.address);
  });
}

Outcome OutcomeOf(const absl::Status& error) {
  return absl::IsFailedPrecondition(error) ? Outcome::kUnsupported : Outcome::kBadMetadata;
}

// Returns the text that is logged with the outcome: the error, the first unreadable replica, the
// reason of a hold, or the first note. Empty: none.
std::string ReasonOf(const Decision& decision) {
  if (!decision.status.ok()) return std::string(decision.status.message());
  for (const Contribution& contribution : decision.contributions) {
    if (contribution.state == Contribution::State::kUnreadable) {
      return absl::StrCat(contribution.name, " ", contribution.because);
    }
  }
  if (decision.unstarted.empty() && !decision.held_because.empty()) return decision.held_because;
  return decision.notes.empty() ? "" : decision.notes.front();
}

}  // namespace

TriggerEvaluator::TriggerEvaluator(const StalenessLimits& staleness, const Clock& clock,
                                   const FleetReader& fleets, Leases& leases,
                                   const ProfileStore& profiles, RequestMetrics& metrics,
                                   std::function<void()> wake_sampler, const SignalAccess& signals,
                                   std::set<std::string> namespaces)
    : staleness_(staleness),
      clock_(clock),
      fleets_(fleets),
      leases_(leases),
      profiles_(profiles),
      metrics_(metrics),
      log_limit_(clock, 20, absl::Seconds(10)),
      wake_sampler_(std::move(wake_sampler)),
      signals_(signals),
      namespaces_(std::move(namespaces)) {}

TriggerEvaluator::Parsed TriggerEvaluator::Parse(TriggerEntry& entry) const {
  const TriggerEntry::ParseResult result = entry.Parse(
      profiles_.Get(), [this](const Trigger& trigger, const ScaledObjectRef& scaled_object) {
        return SourceFor(trigger, scaled_object);
      });
  const absl::StatusOr<Trigger>& trigger = result.parsed->trigger;
  if (!trigger.ok() && result.is_new) metrics_.Decided(OutcomeOf(trigger.status()));
  if (!trigger.ok()) LogRefused(entry, *result.parsed);
  return result.parsed;
}

TriggerEvaluator::Parsed TriggerEvaluator::FindParsed(TriggerEntry& entry) const {
  Parsed parsed = entry.parsed(profiles_.Get().version);
  if (parsed != nullptr && !parsed->trigger.ok()) LogRefused(entry, *parsed);
  return parsed;
}

absl::Status TriggerEvaluator::CheckNamespaces(const Trigger& trigger,
                                               const ScaledObjectRef& scaled_object) const {
  if (namespaces_.empty()) return absl::OkStatus();
  if (!namespaces_.contains(scaled_object.namespace_name)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this aggregator does not serve namespace ", scaled_object.namespace_name,
        ": it has --namespaces=", absl::StrJoin(namespaces_, ","),
        "; let scalerAddress name the Service of an aggregator that does, or add the namespace"));
  }
  const bool counts_gpus = IsOfReplicas(InfoOf(trigger.metric).origin);
  if (trigger.scope == Scope::kWorkload || !counts_gpus) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "scope: ", Name(trigger.scope),
      " counts GPUs of all namespaces, and this aggregator gets those of --namespaces=",
      absl::StrJoin(namespaces_, ","),
      " only; use scope: workload, or let scalerAddress name an aggregator without --namespaces"));
}

absl::StatusOr<std::optional<SignalSource>> TriggerEvaluator::SourceFor(
    const Trigger& trigger, const ScaledObjectRef& scaled_object) const {
  RETURN_IF_ERROR(CheckNamespaces(trigger, scaled_object));
  std::optional<SignalSource> source = SourceOf(trigger, scaled_object.namespace_name);
  if (!source.has_value()) return source;
  const bool is_found = std::holds_alternative<DiscoveredEngines>(source->target);
  if (is_found && !signals_.finds_engines) {
    if (!ReadsEngines(trigger) && !CountsHeldRequests(trigger)) return std::nullopt;
    return absl::InvalidArgumentError(
        "engineEndpoint is missing, and this scaler finds no engines by itself: name the "
        "workload's headless Service, as http://NAME:PORT, or let it find them "
        "(--discover-engines, agent.discoverEngines=true in the chart)");
  }
  RETURN_IF_ERROR(CheckSource(*source, signals_.rules, trigger.endpoint_key, trigger.selector_key));
  if (const auto gateway = GatewayOf(trigger, scaled_object.namespace_name)) {
    RETURN_IF_ERROR(
        CheckSource(*gateway, signals_.rules, trigger.gateway_key, trigger.selector_key));
  }
  return source;
}

std::optional<int64_t> TriggerEvaluator::ClaimLogLine(TriggerEntry& entry, Outcome outcome) const {
  if (entry.logged_outcome() == outcome) return std::nullopt;
  const std::optional<int64_t> dropped = log_limit_.Pass();
  return dropped && entry.SetLogged(outcome) ? dropped : std::nullopt;
}

void TriggerEvaluator::Report(TriggerEntry& entry, Outcome outcome, absl::string_view why) const {
  metrics_.Decided(outcome);
  const std::optional<int64_t> dropped = ClaimLogLine(entry, outcome);
  if (!dropped) return;
  const bool is_normal = outcome == Outcome::kValue || outcome == Outcome::kHeld;
  Log(is_normal ? LogLevel::kInfo : LogLevel::kWarn, "trigger_outcome",
      {{"namespace", Truncated(entry.namespace_name())},
       {"scaledobject", Truncated(entry.name())},
       {"outcome", Name(outcome)},
       {"why", why},
       {"dropped", *dropped}});
}

// Logs no values of bad metadata: one under a mistyped key may be a secret. KEDA's events show
// them.
void TriggerEvaluator::LogRefused(TriggerEntry& entry, const ParsedTrigger& parsed) const {
  const absl::Status& why = parsed.trigger.status();
  const Outcome outcome = OutcomeOf(why);
  const std::optional<int64_t> dropped = ClaimLogLine(entry, outcome);
  if (!dropped) return;
  const bool is_bad = outcome == Outcome::kBadMetadata;
  LogWarn("trigger_outcome",
          {{"namespace", Truncated(entry.namespace_name())},
           {"scaledobject", Truncated(entry.name())},
           {"outcome", Name(outcome)},
           {"key", Truncated(parsed.bad_keys)},
           {"why", is_bad ? "kubectl describe scaledobject shows what is wrong" : why.message()},
           {"dropped", *dropped}});
}

void TriggerEvaluator::LogAmbiguity(TriggerEntry& entry, const AmbiguityWarning& ambiguity) const {
  if (ambiguity.about == AmbiguityWarning::About::kNothing || entry.HasLogged(ambiguity.about))
    return;
  const std::optional<int64_t> dropped = log_limit_.Pass();
  if (!dropped || !entry.SetLogged(ambiguity.about)) return;
  LogWarn("trigger_ambiguous", {{"namespace", Truncated(entry.namespace_name())},
                                {"scaledobject", Truncated(entry.name())},
                                {"why", ambiguity.text},
                                {"dropped", *dropped}});
}

void TriggerEvaluator::ReportUnavailable(TriggerEntry& entry, const absl::Status& why) const {
  Report(entry, Outcome::kUnavailable, why.message());
}

void TriggerEvaluator::RenewUntil(const TriggerEntry& entry, const ParsedTrigger& parsed,
                                  absl::Time until) const {
  const Trigger& trigger = *parsed.trigger;
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  if (IsCostly(metric)) leases_.Renew(metric.costly, until);
  const bool is_workload_scope = trigger.scope == Scope::kWorkload;
  leases_.RenewLookBack(is_workload_scope ? entry.namespaces() : std::vector<std::string>(),
                        entry.LookBackOf(trigger), clock_.Now(), until);
  if (signals_.store == nullptr || parsed.source == nullptr) return;
  const absl::Status wanted =
      signals_.store->Lease(*parsed.source, EngineQueryOf(entry, trigger), clock_.Now(), until);
  wanted.IgnoreError();  // if there is no room for the source, its history has the error
  if (parsed.gateway == nullptr) return;
  signals_.store->Lease(*parsed.gateway, GatewayQueryOf(staleness_), clock_.Now(), until)
      .IgnoreError();
}

void TriggerEvaluator::RecordRequest(TriggerEntry& entry, const ParsedTrigger& parsed,
                                     absl::Duration expected_gap) const {
  if (RecordRequestBlocks(entry, parsed)) SearchEngines(entry, parsed);
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  const bool has_enough =
      !IsCostly(metric) && entry.LookBackOf(*parsed.trigger) <= kShortestLookBack;
  const absl::Time until = entry.LeaseFrom(clock_.Now(), expected_gap);
  if (has_enough && parsed.source == nullptr) return;
  RenewUntil(entry, parsed, until);
  if (!IsCostly(metric)) return;
  const auto fleet = FleetOf(parsed, /*source_is_empty=*/false);
  if (fleet.ok() && NeedsCostlyReading(**fleet, metric, staleness_)) wake_sampler_();
}

void TriggerEvaluator::LeaseInputs(const TriggerEntry& entry, const ParsedTrigger& parsed) const {
  const absl::Time until = entry.lease().until;
  if (clock_.Now() < until) RenewUntil(entry, parsed, until);
}

bool TriggerEvaluator::SuggestsProfile(const ParsedTrigger& parsed) const {
  return signals_.store != nullptr && signals_.finds_engines && LacksProfile(*parsed.trigger);
}

bool TriggerEvaluator::RecordRequestBlocks(TriggerEntry& entry, const ParsedTrigger& parsed) const {
  return SuggestsProfile(parsed) && entry.suggestion().IsDue(clock_.Now());
}

void TriggerEvaluator::RenewLeases(const TriggerEntry& entry, const ParsedTrigger& parsed) const {
  RenewUntil(entry, parsed, clock_.Now() + kShortestLease);
}

void TriggerEvaluator::SearchEngines(TriggerEntry& entry, const ParsedTrigger& parsed) const {
  const absl::Time now = clock_.Now();
  const std::optional<absl::Time> until = entry.suggestion().Search(now);
  if (!until) return;
  const SignalSource source = {.namespace_name = entry.namespace_name(),
                               .target = DiscoveredEngines()};
  const EngineQuery query = {.look_back = staleness_.stale_after};
  const auto fleet = FleetOf(parsed, /*source_is_empty=*/false);
  if (!signals_.store->Lease(source, query, now, *until).ok() || !fleet.ok()) return;
  const auto own = WorkloadPodNamesOf(*parsed.trigger, entry.scaled_object(), **fleet);
  if (own == nullptr) return;  // the pods' owners are unknown
  const SignalHistory found = WithEnginesOf(own.get(), [&](SignalStore::EngineFilter counts) {
    return signals_.store->HistoryOf(source, query, now, counts);
  });
  for (const SignalSeries& series : found.series) {
    const RecommendedProfile* const recommended = ProfileForEngine(series.engine);
    if (recommended == nullptr || !entry.suggestion().Found(*recommended)) continue;
    entry.DropCached();
    const std::optional<int64_t> dropped = log_limit_.Pass();
    if (!dropped) return;
    LogInfo("profile_suggested", {{"namespace", Truncated(entry.namespace_name())},
                                  {"scaledobject", Truncated(entry.name())},
                                  {"why", entry.suggestion().Note()},
                                  {"dropped", *dropped}});
    return;
  }
}

bool TriggerEvaluator::ReadsSignals(const ParsedTrigger& parsed) const {
  return signals_.store != nullptr && parsed.source != nullptr;
}

absl::StatusOr<FleetReader::FleetPtr> TriggerEvaluator::FleetOf(const ParsedTrigger& parsed,
                                                                bool source_is_empty) const {
  const absl::Time now = clock_.Now();
  if (!parsed.NeedsNodes() && !IsWithoutEngine(parsed, source_is_empty)) {
    return std::make_shared<const FleetHistory>(FleetHistory{.now = now});
  }
  auto fleet = parsed.trigger->scope == Scope::kWorkload ? fleets_.NodesFor(parsed.wanted)
                                                         : fleets_.AllNodes();
  if (!fleet.ok() || parsed.source == nullptr) return fleet;
  return AsOf(now, *std::move(fleet));
}

absl::StatusOr<FleetReader::FleetPtr> TriggerEvaluator::ReadableFleetOf(
    const ParsedTrigger& parsed, bool source_is_empty) const {
  auto fleet = FleetOf(parsed, source_is_empty);
  if (!fleet.ok()) return fleet;
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  if (!NeedsCostlyReading(**fleet, metric, staleness_)) return fleet;
  return absl::UnavailableError(
      absl::StrCat(metric.name, " is read only while a trigger uses it: not read yet"));
}

EngineQuery TriggerEvaluator::EngineQueryOf(const TriggerEntry& entry,
                                            const Trigger& trigger) const {
  EngineQuery query = SourceQueryOf(trigger, staleness_);
  const absl::Duration look_back = entry.LookBackOf(trigger);
  if (look_back <= LookBack(trigger)) return query;
  query.look_back = std::max(query.look_back, look_back + staleness_.stale_after);
  return query;
}

SignalHistory TriggerEvaluator::SignalsOf(const TriggerEntry& entry, const ParsedTrigger& parsed,
                                          const WorkloadPodNames* own) const {
  const EngineQuery query = EngineQueryOf(entry, *parsed.trigger);
  SignalHistory history = WithEnginesOf(own, [&](SignalStore::EngineFilter counts) {
    return signals_.store->HistoryOf(*parsed.source, query, clock_.Now(), counts);
  });
  if (parsed.gateway == nullptr) return history;
  auto gateway = std::make_shared<const SignalHistory>(
      signals_.store->HistoryOf(*parsed.gateway, GatewayQueryOf(staleness_), clock_.Now()));
  history.generation += gateway->generation;
  history.is_awaited |= gateway->is_awaited;
  history.gateway = std::move(gateway);
  return history;
}

absl::StatusOr<TriggerEvaluator::Inputs> TriggerEvaluator::InputsOf(
    const TriggerEntry& entry, const ParsedTrigger& parsed,
    const FleetReader::FleetPtr& fleet) const {
  Inputs inputs;
  const auto read = [&](const std::shared_ptr<const WorkloadPodNames>& own) -> absl::Status {
    inputs.received = {.history = SignalsOf(entry, parsed, own.get()), .own = own};
    ASSIGN_OR_RETURN(inputs.fleet, ReadableFleetOf(parsed, IsEmpty(inputs.received.history)));
    return absl::OkStatus();
  };
  const auto own = WorkloadPodNamesOf(*parsed.trigger, entry.scaled_object(), *fleet);
  RETURN_IF_ERROR(read(own));
  if (own == nullptr || inputs.fleet->generation == fleet->generation) return inputs;
  // The nodes have changed between the two reads, so `own` may be outdated. A retry may fail in the
  // same way, so all engines count.
  RETURN_IF_ERROR(read(nullptr));
  return inputs;
}

// The cached decision counts if no generation has changed and its time is not over
// (Decision::valid_until). An average over differing readings is never valid later. The signals
// themselves are not read.
TriggerEvaluator::CacheLookup TriggerEvaluator::LookUp(DecisionPart part, TriggerEntry& entry,
                                                       const ParsedTrigger& parsed) const {
  const bool reads_signals = ReadsSignals(parsed);
  const std::shared_ptr<const CachedDecision> cached = entry.cached();
  const WorkloadPodNames* const own = cached == nullptr ? nullptr : cached->own.get();
  SignalVersion newest{};
  if (reads_signals) {
    newest = WithEnginesOf(own, [&](SignalStore::EngineFilter counts) {
      return signals_.store->VersionOf(*parsed.source, counts);
    });
    // Neither generation ever decreases, so an equal sum means that both are equal.
    if (parsed.gateway != nullptr)
      newest.generation += signals_.store->VersionOf(*parsed.gateway).generation;
  }
  CacheLookup lookup{.fleet = ReadableFleetOf(parsed, reads_signals && newest.has_no_engines)};
  if (!lookup.fleet.ok()) {
    lookup.answer = lookup.fleet.status();
  } else if (const auto answer =
                 entry.EvaluateCached(part, parsed, **lookup.fleet, cached, newest.generation)) {
    lookup.answer = *answer;
  }
  return lookup;
}

std::optional<TriggerEvaluator::EvaluationOr> TriggerEvaluator::TryCached(
    DecisionPart part, TriggerEntry& entry, const Parsed& parsed) const {
  return LookUp(part, entry, *parsed).answer;
}

TriggerEvaluator::EvaluationOr TriggerEvaluator::Try(DecisionPart part, TriggerEntry& entry,
                                                     const Parsed& parsed) const {
  const CacheLookup lookup = LookUp(part, entry, *parsed);
  if (lookup.answer.has_value()) return *lookup.answer;
  const FleetReader::FleetPtr& fleet = *lookup.fleet;
  if (!ReadsSignals(*parsed)) {
    Evaluation evaluation = entry.Evaluate(part, parsed, *fleet, staleness_);
    RecordEvaluation(entry, evaluation);
    return evaluation;
  }
  ASSIGN_OR_RETURN(Inputs inputs, InputsOf(entry, *parsed, fleet));
  SignalHistory& history = inputs.received.history;
  AwaitNodesOf(*parsed, *inputs.fleet, inputs.received.own.get(), history);
  if (history.is_awaited) {
    return absl::UnavailableError(absl::StrCat(NameOf(*parsed->source), ": not read yet"));
  }
  Evaluation evaluation = entry.Evaluate(part, parsed, *inputs.fleet, staleness_, &inputs.received);
  RecordEvaluation(entry, evaluation);
  return evaluation;
}

void TriggerEvaluator::RecordEvaluation(TriggerEntry& entry, const Evaluation& evaluation) const {
  if (!evaluation.is_new) return;
  const Decision& decision = evaluation.cached->decision;
  Report(entry, OutcomeOf(decision), ReasonOf(decision));
  LogAmbiguity(entry, decision.ambiguity);
  const ParsedTrigger& parsed = *evaluation.cached->parsed;
  if (SuggestsProfile(parsed) && decision.status.ok()) {
    entry.suggestion().Decided(decision.contributions);
  }
  const TriggerLabels labels{.namespace_name = entry.namespace_name(),
                             .scaled_object = entry.name(),
                             .metric = parsed.spec.metric_name};
  metrics_.TriggerDecided(labels, decision, ComputesDemand(*parsed.trigger));
}

}  // namespace gpuscaler

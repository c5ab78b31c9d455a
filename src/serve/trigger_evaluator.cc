#include "serve/trigger_evaluator.h"

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
#include "trigger/suited_profile.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// The limit of Kubernetes. Clients other than KEDA may send 64 KiB.
constexpr size_t kLongestName = 253;

absl::string_view Truncated(absl::string_view text) { return text.substr(0, kLongestName); }

bool IsCostly(const MetricTypeInfo& metric) { return metric.costly != CostlyReadings(); }

// Returns true if the snapshot has no reading of `metric` because no lease requested it.
bool NeedsCostlyReading(const NodeSnapshot& snapshot, const MetricTypeInfo& metric) {
  return std::ranges::any_of(snapshot.gpus, [&metric](const GpuSample& gpu) {
    const GpuGap* const gap = FindGap(gpu, FieldOf(metric.reading));
    return gap != nullptr && gap->reason == GpuGap::Reason::kNotRequested;
  });
}

// Returns true if that holds for a node that still sends readings. A disconnected node takes no
// further ones.
bool NeedsCostlyReading(const FleetHistory& fleet, const MetricTypeInfo& metric,
                        const StalenessLimits& staleness) {
  if (!IsCostly(metric)) return false;
  return std::ranges::any_of(fleet.nodes, [&](const NodeState& state) {
    return state.silence.empty() && WhyStale(state, fleet.now, staleness).empty() &&
           NeedsCostlyReading(state.history->Newest(), metric);
  });
}

// Returns `fleet` with the time of decision set to `now`: signals arrive between two readings of
// GPUs, and those received by `now` count.
FleetReader::Fleet AsOf(absl::Time now, FleetReader::Fleet fleet) {
  if (fleet->now >= now) return fleet;
  auto later = std::make_shared<FleetHistory>(*fleet);
  later->now = now;
  return later;
}

// Awaits the engines of the nodes that the workload is on. A trigger that counts all engines awaits
// all nodes. So does a workload that sleeps behind a gateway, since any node may have the records
// of its engines.
void AwaitNodesOf(const ParsedTrigger& parsed, const FleetHistory& fleet, const OwnPods* own,
                  SignalHistory& signals) {
  const bool is_workload_scope = parsed.trigger->scope == Scope::kWorkload;
  const bool sleeps = own != nullptr && own->empty() && CountsHeldRequests(*parsed.trigger);
  const auto is_awaited = [&](const std::string& node) {
    return !is_workload_scope || sleeps ||
           std::ranges::find(fleet.nodes, node, &NodeState::node) != fleet.nodes.end();
  };
  AwaitNodes(is_awaited, signals);
}

// Returns true if the endpoint has no address or no engine is found. GPUs in use then show whether
// engines run all the same.
bool IsWithoutEngine(const ParsedTrigger& parsed, bool source_is_empty) {
  return source_is_empty && ReadsEngines(*parsed.trigger);
}

bool IsEmpty(const SignalHistory& signals) { return signals.status.ok() && signals.series.empty(); }

// Calls `call` with a filter of the engines that count.
template <typename Call>
auto WithEnginesOf(const OwnPods* own, const Call& call) {
  return call([own](const EngineAddress& place) {
    return own == nullptr || own->MayHave(place.pod, place.address);
  });
}

// Returns the reason for an outcome other than a plain value.
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
                                   std::function<void()> wake_sampler, const SignalAccess& signals)
    : staleness_(staleness),
      clock_(clock),
      fleets_(fleets),
      leases_(leases),
      profiles_(profiles),
      metrics_(metrics),
      log_limit_(clock, 20, absl::Seconds(10)),
      wake_sampler_(std::move(wake_sampler)),
      signals_(signals) {}

TriggerEvaluator::Parsed TriggerEvaluator::Parse(CachedTrigger& trigger) const {
  const CachedTrigger::Parsing parsing = trigger.Parse(
      profiles_.Get(), [this](const Trigger& parsed_trigger, const ScaledObjectRef& scaled_object) {
        return SourceFor(parsed_trigger, scaled_object);
      });
  const bool is_bad = !parsing.parsed->trigger.ok();
  if (is_bad && parsing.is_new) metrics_.Decided(Outcome::kBadMetadata);
  if (is_bad) LogBadMetadata(trigger, parsing.parsed->bad_keys);
  return parsing.parsed;
}

TriggerEvaluator::Parsed TriggerEvaluator::FindParsed(CachedTrigger& trigger) const {
  Parsed parsed = trigger.parsed(profiles_.Get().version);
  if (parsed != nullptr && !parsed->trigger.ok()) LogBadMetadata(trigger, parsed->bad_keys);
  return parsed;
}

absl::StatusOr<std::optional<SignalSource>> TriggerEvaluator::SourceFor(
    const Trigger& trigger, const ScaledObjectRef& scaled_object) const {
  std::optional<SignalSource> source = SourceOf(trigger, scaled_object.namespace_name);
  if (!source.has_value()) return source;
  const bool is_found = std::holds_alternative<DiscoveredEngines>(source->place);
  if (is_found && !signals_.finds_engines) {
    if (!ReadsEngines(trigger) && !CountsHeldRequests(trigger)) return std::nullopt;
    return absl::InvalidArgumentError(
        "engineEndpoint is missing, and this scaler finds no engines by itself: name the "
        "workload's headless Service, as http://NAME:PORT, or let it find them "
        "(--discover-engines, agent.discoverEngines=true in the chart)");
  }
  RETURN_IF_ERROR(CheckSource(*source, signals_.rules));
  if (const auto gateway = GatewayOf(trigger, scaled_object.namespace_name)) {
    RETURN_IF_ERROR(CheckSource(*gateway, signals_.rules, "gatewayUrl"));
  }
  return source;
}

std::optional<int64_t> TriggerEvaluator::ClaimLogLine(CachedTrigger& trigger,
                                                      Outcome outcome) const {
  if (trigger.logged_outcome() == outcome) return std::nullopt;
  const std::optional<int64_t> dropped = log_limit_.Pass();
  return dropped && trigger.SetLogged(outcome) ? dropped : std::nullopt;
}

void TriggerEvaluator::Report(CachedTrigger& trigger, Outcome outcome,
                              absl::string_view why) const {
  metrics_.Decided(outcome);
  const std::optional<int64_t> dropped = ClaimLogLine(trigger, outcome);
  if (!dropped) return;
  const bool is_normal = outcome == Outcome::kValue || outcome == Outcome::kHeld;
  Log(is_normal ? LogLevel::kInfo : LogLevel::kWarn, "trigger_outcome",
      {{"namespace", Truncated(trigger.namespace_name())},
       {"scaledobject", Truncated(trigger.name())},
       {"outcome", Name(outcome)},
       {"why", why},
       {"dropped", *dropped}});
}

// Logs no values: one under a mistyped key may be a secret. KEDA's events show them.
void TriggerEvaluator::LogBadMetadata(CachedTrigger& trigger, absl::string_view keys) const {
  const std::optional<int64_t> dropped = ClaimLogLine(trigger, Outcome::kBadMetadata);
  if (!dropped) return;
  LogWarn("trigger_outcome", {{"namespace", Truncated(trigger.namespace_name())},
                              {"scaledobject", Truncated(trigger.name())},
                              {"outcome", Name(Outcome::kBadMetadata)},
                              {"key", Truncated(keys)},
                              {"why", "kubectl describe scaledobject shows what is wrong"},
                              {"dropped", *dropped}});
}

void TriggerEvaluator::LogAmbiguity(CachedTrigger& trigger,
                                    const AmbiguityWarning& ambiguity) const {
  if (ambiguity.about == AmbiguityWarning::About::kNothing || trigger.HasLogged(ambiguity.about))
    return;
  const std::optional<int64_t> dropped = log_limit_.Pass();
  if (!dropped || !trigger.SetLogged(ambiguity.about)) return;
  LogWarn("trigger_doubt", {{"namespace", Truncated(trigger.namespace_name())},
                            {"scaledobject", Truncated(trigger.name())},
                            {"why", ambiguity.text},
                            {"dropped", *dropped}});
}

void TriggerEvaluator::ReportUnavailable(CachedTrigger& trigger, const absl::Status& why) const {
  Report(trigger, Outcome::kUnavailable, why.message());
}

void TriggerEvaluator::RenewUntil(const CachedTrigger& trigger, const ParsedTrigger& parsed,
                                  absl::Time until) const {
  const Trigger& parsed_trigger = *parsed.trigger;
  const MetricTypeInfo& metric = InfoOf(parsed_trigger.metric);
  if (IsCostly(metric)) leases_.Renew(metric.costly, until);
  const bool is_workload_scope = parsed_trigger.scope == Scope::kWorkload;
  leases_.RenewLookBack(is_workload_scope ? trigger.namespaces() : std::vector<std::string>(),
                        trigger.LookBackOf(parsed_trigger), clock_.Now(), until);
  if (signals_.store == nullptr || !parsed.source.has_value()) return;
  const absl::Status wanted = signals_.store->Want(
      *parsed.source, EngineQuestionOf(trigger, parsed_trigger), clock_.Now(), until);
  wanted.IgnoreError();  // if there is no room for the source, its history has the error
  if (!parsed.gateway.has_value()) return;
  signals_.store->Want(*parsed.gateway, GatewayQuestionOf(staleness_), clock_.Now(), until)
      .IgnoreError();
}

void TriggerEvaluator::Want(CachedTrigger& trigger, const ParsedTrigger& parsed) const {
  if (WantBlocks(trigger, parsed)) SearchEngines(trigger, parsed);
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  const bool has_enough =
      !IsCostly(metric) && trigger.LookBackOf(*parsed.trigger) <= kShortestLookBack;
  if (has_enough && !parsed.source.has_value()) return;
  RenewUntil(trigger, parsed, trigger.LeaseFrom(clock_.Now()));
  if (!IsCostly(metric)) return;
  const auto fleet = FleetOf(parsed, /*source_is_empty=*/false);
  if (fleet.ok() && NeedsCostlyReading(**fleet, metric, staleness_)) wake_sampler_();
}

bool TriggerEvaluator::SuggestsProfile(const ParsedTrigger& parsed) const {
  return signals_.store != nullptr && signals_.finds_engines && LacksProfile(*parsed.trigger);
}

bool TriggerEvaluator::WantBlocks(CachedTrigger& trigger, const ParsedTrigger& parsed) const {
  return SuggestsProfile(parsed) && trigger.suggestion().IsDue(clock_.Now());
}

void TriggerEvaluator::RenewLeases(const CachedTrigger& trigger,
                                   const ParsedTrigger& parsed) const {
  RenewUntil(trigger, parsed, clock_.Now() + kShortestLease);
}

void TriggerEvaluator::SearchEngines(CachedTrigger& trigger, const ParsedTrigger& parsed) const {
  const absl::Time now = clock_.Now();
  const std::optional<absl::Time> until = trigger.suggestion().Search(now);
  if (!until) return;
  const SignalSource source = {.namespace_name = trigger.namespace_name(),
                               .place = DiscoveredEngines()};
  const EngineQuery question = {.look_back = staleness_.stale_after};
  const auto fleet = FleetOf(parsed, /*source_is_empty=*/false);
  if (!signals_.store->Want(source, question, now, *until).ok() || !fleet.ok()) return;
  const auto own = OwnPodsOf(*parsed.trigger, trigger.scaled_object(), **fleet);
  if (own == nullptr) return;  // the pods' owners are unknown
  const SignalHistory found = WithEnginesOf(own.get(), [&](SignalStore::EngineFilter counts) {
    return signals_.store->Of(source, question, now, counts);
  });
  for (const SignalSeries& series : found.series) {
    const SuitedProfile* const suited = ProfileForEngine(series.engine);
    if (suited == nullptr || !trigger.suggestion().Found(*suited)) continue;
    trigger.DropCached();
    const std::optional<int64_t> dropped = log_limit_.Pass();
    if (!dropped) return;
    LogInfo("profile_suggested", {{"namespace", Truncated(trigger.namespace_name())},
                                  {"scaledobject", Truncated(trigger.name())},
                                  {"why", trigger.suggestion().Note()},
                                  {"dropped", *dropped}});
    return;
  }
}

bool TriggerEvaluator::ReadsSignals(const ParsedTrigger& parsed) const {
  return signals_.store != nullptr && parsed.source.has_value();
}

absl::StatusOr<FleetReader::Fleet> TriggerEvaluator::FleetOf(const ParsedTrigger& parsed,
                                                             bool source_is_empty) const {
  const absl::Time now = clock_.Now();
  if (!parsed.NeedsNodes() && !IsWithoutEngine(parsed, source_is_empty)) {
    return std::make_shared<const FleetHistory>(FleetHistory{.now = now});
  }
  auto fleet =
      parsed.trigger->scope == Scope::kWorkload ? fleets_.Of(parsed.wanted) : fleets_.All();
  if (!fleet.ok() || !parsed.source.has_value()) return fleet;
  return AsOf(now, *std::move(fleet));
}

absl::StatusOr<FleetReader::Fleet> TriggerEvaluator::ReadableFleetOf(const ParsedTrigger& parsed,
                                                                     bool source_is_empty) const {
  auto fleet = FleetOf(parsed, source_is_empty);
  if (!fleet.ok()) return fleet;
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  if (!NeedsCostlyReading(**fleet, metric, staleness_)) return fleet;
  return absl::UnavailableError(
      absl::StrCat(metric.name, " is read only while it is asked for: not read yet"));
}

EngineQuery TriggerEvaluator::EngineQuestionOf(const CachedTrigger& trigger,
                                               const Trigger& parsed_trigger) const {
  EngineQuery question = QuestionOf(parsed_trigger, staleness_);
  const absl::Duration look_back = trigger.LookBackOf(parsed_trigger);
  if (look_back <= LookBack(parsed_trigger)) return question;
  question.look_back = std::max(question.look_back, look_back + staleness_.stale_after);
  return question;
}

SignalHistory TriggerEvaluator::SignalsOf(const CachedTrigger& trigger, const ParsedTrigger& parsed,
                                          const OwnPods* own) const {
  const EngineQuery question = EngineQuestionOf(trigger, *parsed.trigger);
  SignalHistory history = WithEnginesOf(own, [&](SignalStore::EngineFilter counts) {
    return signals_.store->Of(*parsed.source, question, clock_.Now(), counts);
  });
  if (!parsed.gateway.has_value()) return history;
  auto gateway = std::make_shared<const SignalHistory>(
      signals_.store->Of(*parsed.gateway, GatewayQuestionOf(staleness_), clock_.Now()));
  history.generation += gateway->generation;
  history.is_awaited |= gateway->is_awaited;
  history.gateway = std::move(gateway);
  return history;
}

absl::StatusOr<TriggerEvaluator::Inputs> TriggerEvaluator::InputsOf(
    const CachedTrigger& trigger, const ParsedTrigger& parsed,
    const FleetReader::Fleet& fleet) const {
  auto own = OwnPodsOf(*parsed.trigger, trigger.scaled_object(), *fleet);
  Inputs inputs{.received = {.history = SignalsOf(trigger, parsed, own.get()), .own = own},
                .fleet = fleet};
  ASSIGN_OR_RETURN(inputs.fleet, ReadableFleetOf(parsed, IsEmpty(inputs.received.history)));
  if (own == nullptr || inputs.fleet->generation == fleet->generation) return inputs;
  // The workload's own pods may have changed in between, again and again: count all engines.
  inputs.received = {.history = SignalsOf(trigger, parsed, nullptr), .own = nullptr};
  ASSIGN_OR_RETURN(inputs.fleet, ReadableFleetOf(parsed, IsEmpty(inputs.received.history)));
  return inputs;
}

// Compares generations alone and does not read the signals. A decision states how long it stays
// valid without new readings; for an average over differing readings that is no time at all. Nodes
// that the cached decision awaited are not awaited again.
TriggerEvaluator::CacheLookup TriggerEvaluator::LookUp(Question question, CachedTrigger& trigger,
                                                       const ParsedTrigger& parsed) const {
  const bool reads_signals = ReadsSignals(parsed);
  const std::shared_ptr<const CachedDecision> cached = trigger.cached();
  const OwnPods* const own = cached == nullptr ? nullptr : cached->own.get();
  SignalVersion newest{};
  if (reads_signals) {
    newest = WithEnginesOf(own, [&](SignalStore::EngineFilter counts) {
      return signals_.store->VersionOf(*parsed.source, counts);
    });
    // Neither generation ever decreases, so an equal sum means that both are equal.
    if (parsed.gateway.has_value())
      newest.generation += signals_.store->VersionOf(*parsed.gateway).generation;
  }
  CacheLookup lookup{.fleet = ReadableFleetOf(parsed, reads_signals && newest.is_none)};
  if (!lookup.fleet.ok()) {
    lookup.answer = lookup.fleet.status();
  } else if (const auto answer = trigger.EvaluateCached(question, parsed, **lookup.fleet, cached,
                                                        newest.generation)) {
    lookup.answer = *answer;
  }
  return lookup;
}

std::optional<TriggerEvaluator::Evaluated> TriggerEvaluator::TryCached(Question question,
                                                                       CachedTrigger& trigger,
                                                                       const Parsed& parsed) const {
  return LookUp(question, trigger, *parsed).answer;
}

TriggerEvaluator::Evaluated TriggerEvaluator::Try(Question question, CachedTrigger& trigger,
                                                  const Parsed& parsed) const {
  const CacheLookup lookup = LookUp(question, trigger, *parsed);
  if (lookup.answer.has_value()) return *lookup.answer;
  const FleetReader::Fleet& fleet = *lookup.fleet;
  if (!ReadsSignals(*parsed)) {
    return Reported(trigger, trigger.Evaluate(question, parsed, *fleet, staleness_));
  }
  ASSIGN_OR_RETURN(Inputs inputs, InputsOf(trigger, *parsed, fleet));
  SignalHistory& history = inputs.received.history;
  AwaitNodesOf(*parsed, *inputs.fleet, inputs.received.own.get(), history);
  if (history.is_awaited) {
    return absl::UnavailableError(absl::StrCat(NameOf(*parsed->source), ": not read yet"));
  }
  return Reported(trigger,
                  trigger.Evaluate(question, parsed, *inputs.fleet, staleness_, &inputs.received));
}

Evaluation TriggerEvaluator::Reported(CachedTrigger& trigger, Evaluation evaluation) const {
  if (evaluation.is_new) {
    const Decision& decision = evaluation.cached->decision;
    Report(trigger, OutcomeOf(decision), ReasonOf(decision));
    LogAmbiguity(trigger, decision.ambiguity);
    const ParsedTrigger& parsed = *evaluation.cached->parsed;
    if (SuggestsProfile(parsed) && decision.status.ok()) {
      trigger.suggestion().Decided(decision.contributions);
    }
    if (ComputesDemand(*parsed.trigger)) {
      metrics_.DemandDecided({.namespace_name = trigger.namespace_name(),
                              .scaled_object = trigger.name(),
                              .metric = parsed.spec.metric_name},
                             decision);
    }
  }
  return evaluation;
}

}  // namespace gpuscaler

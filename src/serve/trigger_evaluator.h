// Evaluates triggers: parses the metadata under the profiles in force, and decides on a snapshot
// that is fresh and has the readings that the trigger needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/rate_limit.h"
#include "model/fleet_reader.h"
#include "model/leases.h"
#include "serve/profile_store.h"
#include "serve/request_metrics.h"
#include "serve/signal_access.h"
#include "serve/trigger_cache.h"

namespace gpuscaler {

// Thread-safe.
class TriggerEvaluator {
 public:
  using Parsed = std::shared_ptr<const ParsedTrigger>;
  using EvaluationOr = absl::StatusOr<Evaluation>;

  // All references must outlive it. Refuses triggers outside of `namespaces`, because only their
  // pods' GPUs are known; empty: all are.
  TriggerEvaluator(const StalenessLimits& staleness, const Clock& clock, const FleetReader& fleets,
                   Leases& leases, const ProfileStore& profiles, RequestMetrics& metrics,
                   std::function<void()> wake_sampler, const SignalAccess& signals = {},
                   std::set<std::string> namespaces = {});

  // Blocks for up to a tenth of a second, for the worst metadata that CheckSize() accepts.
  Parsed Parse(TriggerEntry& entry) const;
  // Returns what Parse() would return, or null if the metadata must be parsed first.
  Parsed FindParsed(TriggerEntry& entry) const;

  // All functions below require a `parsed` with a trigger that is OK.

  // Must be called for each request. Renews the trigger's lease (TriggerEntry::LeaseFrom) and those
  // on what it needs: sources, costly readings, and a longer history than most triggers use. Wakes
  // the sampler if the newest snapshot has no costly reading that the trigger needs.
  void RecordRequest(TriggerEntry& entry, const ParsedTrigger& parsed,
                     absl::Duration expected_gap = absl::ZeroDuration()) const;

  // Leases what the newest decision needs until the trigger's lease ends: it may look farther back
  // than the decision at the newest request.
  void LeaseInputs(const TriggerEntry& entry, const ParsedTrigger& parsed) const;

  // Returns true if RecordRequest() looks for engines in the workload's pods, which takes as long
  // as a decision.
  bool RecordRequestBlocks(TriggerEntry& entry, const ParsedTrigger& parsed) const;

  // Renews the same leases for an open stream, without waking the sampler.
  void RenewLeases(const TriggerEntry& entry, const ParsedTrigger& parsed) const;

  // Returns UNAVAILABLE if there is no fresh snapshot, or it has no readings that the trigger
  // needs; the next snapshot may have them. Decision::status may hold another error, which lasts
  // until GPUs or metadata change. Fields beyond `part` may be from an earlier decision. Blocks for
  // the time of a decision.
  EvaluationOr Try(DecisionPart part, TriggerEntry& entry, const Parsed& parsed) const;

  // Returns what Try() would return without a decision, or nothing if one is needed. Does not wait
  // for decisions.
  std::optional<EvaluationOr> TryCached(DecisionPart part, TriggerEntry& entry,
                                        const Parsed& parsed) const;

  // Counts and logs a request that got the error `why` instead of a decision.
  void ReportUnavailable(TriggerEntry& entry, const absl::Status& why) const;

 private:
  void RenewUntil(const TriggerEntry& entry, const ParsedTrigger& parsed, absl::Time until) const;

  // Returns FAILED_PRECONDITION if the trigger needs GPUs that are not known here.
  absl::Status CheckNamespaces(const Trigger& trigger, const ScaledObjectRef& scaled_object) const;

  // Implements TriggerEntry::SourceFor. Returns INVALID_ARGUMENT or PERMISSION_DENIED as
  // CheckSource() does, and FAILED_PRECONDITION as CheckNamespaces() does.
  absl::StatusOr<std::optional<SignalSource>> SourceFor(const Trigger& trigger,
                                                        const ScaledObjectRef& scaled_object) const;

  bool ReadsSignals(const ParsedTrigger& parsed) const;

  // Returns true if the trigger has no profile and engines in its pods can be found to suggest one.
  bool SuggestsProfile(const ParsedTrigger& parsed) const;
  // Looks for engines in the workload's pods, to suggest a profile. The value does not change.
  void SearchEngines(TriggerEntry& entry, const ParsedTrigger& parsed) const;

  // `source_is_empty`: no engine is found at the source.
  absl::StatusOr<FleetReader::FleetPtr> FleetOf(const ParsedTrigger& parsed,
                                                bool source_is_empty) const;
  // Returns UNAVAILABLE if a costly reading that the decision needs is missing.
  absl::StatusOr<FleetReader::FleetPtr> ReadableFleetOf(const ParsedTrigger& parsed,
                                                        bool source_is_empty) const;
  // Returns a query that looks back as far as the newest decision does.
  EngineQuery EngineQueryOf(const TriggerEntry& entry, const Trigger& trigger) const;
  SignalHistory SignalsOf(const TriggerEntry& entry, const ParsedTrigger& parsed,
                          const WorkloadPodNames* own) const;

  // The inputs of a decision. The nodes are read after the source, so that no signal is newer than
  // the time of the decision.
  struct Inputs {
    Observations received;
    FleetReader::FleetPtr fleet;
  };
  // `fleet`: an earlier reading of the nodes, which shows the workload's own pods.
  absl::StatusOr<Inputs> InputsOf(const TriggerEntry& entry, const ParsedTrigger& parsed,
                                  const FleetReader::FleetPtr& fleet) const;

  // `answer` is the result of TryCached(). If it is empty, `fleet` is the input of the decision.
  struct CacheLookup {
    absl::StatusOr<FleetReader::FleetPtr> fleet;
    std::optional<EvaluationOr> answer = std::nullopt;
  };
  CacheLookup LookUp(DecisionPart part, TriggerEntry& entry, const ParsedTrigger& parsed) const;
  // Counts and logs a new evaluation, and updates the profile suggestion and the demand metrics.
  void RecordEvaluation(TriggerEntry& entry, const Evaluation& evaluation) const;

  // Counts the outcome, and logs it if it changed.
  void Report(TriggerEntry& entry, Outcome outcome, absl::string_view why) const;
  // Logs why the trigger is refused. Requires a `parsed` with a trigger that is an error.
  void LogRefused(TriggerEntry& entry, const ParsedTrigger& parsed) const;
  // Logs each kind of ambiguity once: its text names other workloads, and those change with each
  // Job. An ambiguity is no outcome, because the value may be right, as for a workload at zero
  // replicas.
  void LogAmbiguity(TriggerEntry& entry, const AmbiguityWarning& ambiguity) const;

  // Returns how many lines were dropped before this one if `outcome` differs from the one logged
  // last and the rate limit allows a line. Otherwise returns nothing; the next call tries again.
  std::optional<int64_t> ClaimLogLine(TriggerEntry& entry, Outcome outcome) const;

  const StalenessLimits staleness_;
  const Clock& clock_;
  const FleetReader& fleets_;
  Leases& leases_;
  const ProfileStore& profiles_;
  RequestMetrics& metrics_;
  mutable RateLimit log_limit_;  // metadata is written by tenants
  const std::function<void()> wake_sampler_;
  const SignalAccess signals_;
  const std::set<std::string> namespaces_;  // empty: all
};

}  // namespace gpuscaler

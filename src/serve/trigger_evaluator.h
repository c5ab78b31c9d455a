// From a question to a cached decision: the trigger as the profiles in force read it, evaluated on
// a snapshot that is fresh and holds what the trigger needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/rate_limit.h"
#include "serve/profile_store.h"
#include "serve/request_metrics.h"
#include "serve/signal_access.h"
#include "serve/trigger_cache.h"
#include "store/fleet_reader.h"
#include "store/leases.h"

namespace gpuscaler {

// Thread-safe.
class TriggerEvaluator {
 public:
  using Parsed = std::shared_ptr<const ParsedTrigger>;
  using Evaluated = absl::StatusOr<Evaluation>;

  // All references outlive it.
  TriggerEvaluator(const StalenessLimits& staleness, const Clock& clock, const FleetReader& fleets,
                   Leases& leases, const ProfileStore& profiles, RequestMetrics& metrics,
                   std::function<void()> wake_sampler, const SignalAccess& signals = {});

  // Takes a tenth of a second for the worst metadata that CheckSize() lets through.
  Parsed Parse(CachedTrigger& trigger) const;
  // Returns what Parse() would at once, or null if that has to read the metadata.
  Parsed Known(CachedTrigger& trigger) const;

  // The rest takes a `parsed` whose trigger is OK.

  // Somebody asks: what the trigger needs, costly readings or a longer past than most do, is wanted
  // for a while, and costly readings from now on when the newest snapshot lacks them.
  void Want(CachedTrigger& trigger, const ParsedTrigger& parsed) const;

  // Returns true if Want() looks for engines in the workload's pods, which takes as long as a
  // decision.
  bool WantBlocks(CachedTrigger& trigger, const ParsedTrigger& parsed) const;

  // A stream is open: the same is wanted for a while, without a hurry.
  void Hold(const CachedTrigger& trigger, const ParsedTrigger& parsed) const;

  // UNAVAILABLE: no fresh snapshot, or none with what the trigger needs; the next one may have it.
  // A cached decision may hold an error of its own, which only other GPUs or metadata cure.
  // The parts that `question` leaves out may be a moment old. Blocks for the time of a decision.
  Evaluated Try(Question question, CachedTrigger& trigger, const Parsed& parsed) const;

  // What Try() would return without a decision; empty: one is needed. Does not wait for decisions.
  std::optional<Evaluated> Standing(Question question, CachedTrigger& trigger,
                                    const Parsed& parsed) const;

  // A question got `why` instead of a cached decision.
  void Unanswered(CachedTrigger& trigger, const absl::Status& why) const;

 private:
  void Renew(const CachedTrigger& trigger, const ParsedTrigger& parsed, absl::Time until) const;

  // CachedTrigger::SourceFor: INVALID_ARGUMENT, PERMISSION_DENIED as CheckSource() says.
  absl::StatusOr<std::optional<SignalSource>> SourceFor(const Trigger& trigger,
                                                        const ScaledObjectRef& scaled_object) const;

  bool ReadsSignals(const ParsedTrigger& parsed) const;

  // Whether the trigger has no profile, and engines in its pods can be found to suggest one.
  bool SuggestsProfile(const ParsedTrigger& parsed) const;
  // Looks for the engines of a trigger without a profile, to suggest one. The value does not
  // change.
  void LookForEngines(CachedTrigger& trigger, const ParsedTrigger& parsed) const;

  // What the trigger is decided on. `none_listed`: its source is of engines, and there are none.
  absl::StatusOr<FleetReader::Fleet> FleetOf(const ParsedTrigger& parsed, bool none_listed) const;
  // The nodes, with what a decision needs of them.
  absl::StatusOr<FleetReader::Fleet> ReadableFleetOf(const ParsedTrigger& parsed,
                                                     bool none_listed) const;
  // As far back as the newest decision looks.
  EngineQuestion EngineQuestionOf(const CachedTrigger& trigger, const Trigger& asked) const;
  SignalHistory SignalsOf(const CachedTrigger& trigger, const ParsedTrigger& parsed,
                          const OwnPods* own) const;

  // What its source said, and nodes that have been looked at since: what was said is then no later
  // than the instant that is decided for.
  struct Inputs {
    Observations received;
    FleetReader::Fleet fleet;
  };
  // `fleet` is as of a moment ago.
  absl::StatusOr<Inputs> InputsOf(const CachedTrigger& trigger, const ParsedTrigger& parsed,
                                  const FleetReader::Fleet& fleet) const;

  // `standing` as Standing() returns it; if it is empty, `fleet` is what to decide on.
  struct Look {
    absl::StatusOr<FleetReader::Fleet> fleet;
    std::optional<Evaluated> standing = std::nullopt;
  };
  Look LookAt(Question question, CachedTrigger& trigger, const ParsedTrigger& parsed) const;
  Evaluation Reported(CachedTrigger& trigger, Evaluation evaluation) const;

  // Counts it and logs it.
  void Report(CachedTrigger& trigger, Outcome outcome, absl::string_view why) const;
  void LogBadMetadata(CachedTrigger& trigger, absl::string_view keys) const;
  // Once for each thing that is ambiguous: the text names others, who may come and go with each
  // Job. The value may be right all the same, of what sleeps: it is no outcome.
  void LogAmbiguity(CachedTrigger& trigger, const AmbiguityWarning& ambiguity) const;

  // How many lines were dropped before this one, when it is another outcome than was last said and
  // the log has room; what finds none is said the next time.
  std::optional<int64_t> MaySay(CachedTrigger& trigger, Outcome outcome) const;

  const StalenessLimits staleness_;
  const Clock& clock_;
  const FleetReader& fleets_;
  Leases& leases_;
  const ProfileStore& profiles_;
  RequestMetrics& metrics_;
  mutable RateLimit log_limit_;  // metadata is written by tenants
  const std::function<void()> wake_sampler_;
  const SignalAccess signals_;
};

}  // namespace gpuscaler

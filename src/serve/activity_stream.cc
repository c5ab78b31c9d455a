#include "serve/activity_stream.h"

#include <algorithm>
#include <utility>

#include "externalscaler.pb.h"

namespace gpuscaler {
namespace {

// The longest delay until a change by time alone is noticed.
constexpr absl::Duration kReevaluateDelay = absl::Seconds(1);

// How often the stream of an active workload evaluates changed inputs. While readings in the window
// prove activity for longer (Decision::evidence_until), the interval is kEvidenceInterval times the
// jitter. It is not longer, since other pods may change the meaning of a reading. A workload that
// becomes idle and active between two evaluations gets no new `true`, unless it has no replica.
constexpr absl::Duration kActiveInterval = absl::Seconds(1);
// HPAs request the value each 15 s, and their decisions prove it too (IsProvenByRequest).
constexpr absl::Duration kEvidenceInterval = absl::Seconds(20);  // times 0.8 to 1.2

// How often leases are renewed if nothing changes: several times in the shortest lease.
constexpr absl::Duration kLeaseRenewal = absl::Seconds(20);

bool HasReplica(const Decision& decision) { return decision.replicas > 0 || decision.starting > 0; }

}  // namespace

ActivityStream::ActivityStream(std::shared_ptr<ServerCall> served, absl::Time ends_at,
                               double jitter, const TriggerEvaluator& evaluator,
                               RepeatBudget& budget, std::shared_ptr<TriggerEntry> trigger)
    : ScalerStream(std::move(served), ends_at, std::move(trigger)),
      jitter_(jitter),
      evaluator_(evaluator),
      budget_(budget),
      repeats_(jitter) {}

void ActivityStream::Evaluate(absl::Time now) {
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger_);
  if (!parsed->trigger.ok()) return End(parsed->trigger.status());
  RenewLeases(*parsed, now);
  if (IsProvenByRequest(*parsed, now)) return;
  const TriggerEvaluator::EvaluationOr evaluated =
      evaluator_.Try(DecisionPart::kActivity, *trigger_, parsed);
  if (!evaluated.ok() || !evaluated->cached->decision.status.ok()) return SkipUnknown(now);
  Update(*evaluated, now);
}

void ActivityStream::Changed(absl::Time now) {
  {
    MutexLock lock(push_mutex_);
    if (was_active_ && now < ignore_changes_until_) {
      reevaluate_at_ = std::min(reevaluate_at_, ignore_changes_until_);
      return;
    }
  }
  Refresh(now);
}

absl::Time ActivityStream::Due() const {
  MutexLock lock(push_mutex_);
  return std::min({repeats_.next(), reevaluate_at_, renew_leases_at_});
}

void ActivityStream::RenewLeases(const ParsedTrigger& parsed, absl::Time now) {
  evaluator_.RenewLeases(*trigger_, parsed);
  MutexLock lock(push_mutex_);
  renew_leases_at_ = now + kLeaseRenewal * jitter_;
}

// A changed profile may name another metric, which has other inputs.
StreamInterest ActivityStream::interest() const {
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger_);
  if (!parsed->trigger.ok()) {
    return {.version = parsed->profiles_version, .pods = parsed->wanted};
  }
  StreamInterest interest{.version = parsed->profiles_version};
  if (parsed->source != nullptr) interest.sources.push_back(parsed->source);
  if (parsed->gateway != nullptr) interest.sources.push_back(parsed->gateway);
  if (parsed->NeedsNodes()) {
    interest.pods = parsed->wanted;
    interest.all_nodes = parsed->trigger->scope != Scope::kWorkload;
  }
  return interest;
}

absl::Time ActivityStream::ProvenUntil(const Decision& decision, absl::Time decided_at) const {
  if (!HasReplica(decision)) return absl::InfinitePast();
  return std::min(decision.evidence_until, decided_at + kEvidenceInterval * jitter_);
}

bool ActivityStream::IsProvenByRequest(const ParsedTrigger& parsed, absl::Time now) {
  const std::shared_ptr<const CachedDecision> newest = trigger_->cached();
  if (newest == nullptr || newest->parsed.get() != &parsed) return false;
  const absl::Time until = ProvenUntil(newest->decision, newest->decision.taken_at);
  MutexLock lock(push_mutex_);
  if (!was_active_ || newest->sequence <= pushed_sequence_ || until <= now) return false;
  ignore_changes_until_ = reevaluate_at_ = until;
  repeats_.Stop();
  return true;
}

void ActivityStream::Update(const Evaluation& evaluation, absl::Time now) {
  const CachedDecision& cached = *evaluation.cached;
  const Decision& decision = cached.decision;
  const bool no_replica = !HasReplica(decision);
  MutexLock lock(push_mutex_);
  // Two threads refresh when the stream opens, and the slower one may have the older decision.
  if (cached.sequence < pushed_sequence_) return;
  pushed_sequence_ = cached.sequence;
  const absl::Time proven_until = ProvenUntil(decision, now);
  ignore_changes_until_ = std::max(proven_until, now + kActiveInterval);
  // A decision for the time of the newest reading does not change as time passes.
  reevaluate_at_ = evaluation.active_until > now
                       ? std::max({evaluation.active_until, proven_until, now + kReevaluateDelay})
                       : absl::InfiniteFuture();
  if (decision.active && no_replica) {
    repeats_.Start(now);
  } else {
    repeats_.Stop();
  }
  const bool repeat = repeats_.TakeDue(now) && budget_.Take(now);
  const bool became_active = decision.active && !was_active_;
  was_active_ = decision.active;
  if (!became_active && !repeat) return;
  externalscaler::IsActiveResponse response;
  response.set_result(true);
  Push(response);
}

// Drops a repeat that is due; otherwise the stream would be due again at once.
void ActivityStream::SkipUnknown(absl::Time now) {
  MutexLock lock(push_mutex_);
  ignore_changes_until_ = now + kActiveInterval;
  repeats_.TakeDue(now);
  reevaluate_at_ = now + kReevaluateDelay;
}

}  // namespace gpuscaler

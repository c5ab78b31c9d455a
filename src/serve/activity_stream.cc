#include "serve/activity_stream.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// How late it may be noticed what time alone brings.
constexpr absl::Duration kLookAtTime = absl::Seconds(1);

// A workload that is active is looked at so often; where its readings are evidence for a while,
// each stream at its own pace and all within 15 s, since other pods may change what they mean. One
// that is active again before it was noticed that it was not is told so again when it has no
// replica.
constexpr absl::Duration kLookWhileActive = absl::Seconds(1);
constexpr absl::Duration kLookAtEvidence = absl::Milliseconds(12500);  // times 0.8 to 1.2

// How often its leases are held though nothing changes: several times in the shortest one.
constexpr absl::Duration kLeaseRenewal = absl::Seconds(20);

}  // namespace

ActivityStream::ActivityStream(std::shared_ptr<ServerCall> served, const StreamLife& life,
                               const TriggerEvaluator& evaluator, RepeatBudget& budget,
                               std::shared_ptr<CachedTrigger> trigger)
    : ScalerStream(std::move(served)),
      life_(life),
      evaluator_(evaluator),
      budget_(budget),
      trigger_(std::move(trigger)),
      repeats_(life.jitter) {
  call().SendHeaders();
}

void ActivityStream::Refresh(absl::Time now) {
  if (now >= life_.ends_at) return End(absl::OkStatus());
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger_);
  if (!parsed->trigger.ok()) return End(parsed->trigger.status());
  Hold(*parsed, now);
  const TriggerEvaluator::Evaluated evaluated =
      evaluator_.Try(Question::kActivity, *trigger_, parsed);
  if (!evaluated.ok() || !evaluated->cached->decision.status.ok()) return Skip(now);
  Show(*evaluated, now);
}

void ActivityStream::Changed(absl::Time now) {
  {
    MutexLock lock(show_mutex_);
    if (was_active_ && now < calm_until_) {
      look_again_at_ = std::min(look_again_at_, calm_until_);
      return;
    }
  }
  Refresh(now);
}

absl::Time ActivityStream::Due() const {
  MutexLock lock(show_mutex_);
  return std::min({life_.ends_at, repeats_.next(), look_again_at_, hold_again_at_});
}

void ActivityStream::Hold(const ParsedTrigger& parsed, absl::Time now) {
  evaluator_.Hold(*trigger_, parsed);
  MutexLock lock(show_mutex_);
  hold_again_at_ = now + kLeaseRenewal * life_.jitter;
}

// A profile may name another metric, which is decided on something else.
StreamInterest ActivityStream::interest() const {
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger_);
  if (!parsed->trigger.ok()) {
    return {.version = parsed->profiles_version, .pods = parsed->wanted};
  }
  StreamInterest interest{.version = parsed->profiles_version};
  if (parsed->source.has_value()) interest.sources.push_back(*parsed->source);
  if (parsed->gateway.has_value()) interest.sources.push_back(*parsed->gateway);
  if (parsed->NeedsNodes()) {
    interest.pods = parsed->wanted;
    interest.all_nodes = parsed->trigger->scope != Scope::kWorkload;
  }
  return interest;
}

void ActivityStream::Show(const Evaluation& evaluation, absl::Time now) {
  const CachedDecision& cached = *evaluation.cached;
  const Decision& decision = cached.decision;
  const bool no_replica = decision.replicas == 0 && decision.warming == 0;
  MutexLock lock(show_mutex_);
  // Two threads refresh when the stream opens: the slower one may come with the older cached
  // decision.
  if (cached.sequence < shown_) return;
  shown_ = cached.sequence;
  const absl::Time evident_until =
      no_replica ? absl::InfinitePast()
                 : std::min(decision.evidence_until, now + kLookAtEvidence * life_.jitter);
  calm_until_ = std::max(evident_until, now + kLookWhileActive);
  // What is decided for the newest reading's time does not change as time passes.
  look_again_at_ = evaluation.active_until > now
                       ? std::max({evaluation.active_until, evident_until, now + kLookAtTime})
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

// A repeat that is due is not made up for: it would be due again at once.
void ActivityStream::Skip(absl::Time now) {
  MutexLock lock(show_mutex_);
  calm_until_ = now + kLookWhileActive;
  repeats_.TakeDue(now);
  look_again_at_ = now + kLookAtTime;
}

}  // namespace gpuscaler

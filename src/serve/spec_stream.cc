#include "serve/spec_stream.h"

#include <utility>

#include "serve/answers.h"

namespace gpuscaler {
namespace {

bool Same(const MetricSpec& a, const MetricSpec& b) {
  return a.metric_name == b.metric_name && a.target == b.target;
}

}  // namespace

SpecStream::SpecStream(std::shared_ptr<ServerCall> call, const StreamSchedule& schedule,
                       const TriggerEvaluator& evaluator, std::shared_ptr<TriggerEntry> trigger)
    : ScalerStream(std::move(call)),
      schedule_(schedule),
      evaluator_(evaluator),
      trigger_(std::move(trigger)) {}

void SpecStream::Refresh(absl::Time now) {
  if (now >= schedule_.ends_at) return End(absl::OkStatus());
  const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger_);
  MutexLock lock(push_mutex_);
  // Two threads refresh when the stream opens, and the slower one may have the older profiles.
  if (parsed->profiles_version < version_) return;
  version_ = parsed->profiles_version;
  if (shown_ && Same(*shown_, parsed->spec)) return;
  shown_ = parsed->spec;
  Push(SpecAnswer(parsed->spec));
}

}  // namespace gpuscaler

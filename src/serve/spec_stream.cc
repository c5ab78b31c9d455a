#include "serve/spec_stream.h"

#include "serve/answers.h"

namespace gpuscaler {
namespace {

bool Same(const MetricSpec& a, const MetricSpec& b) {
  return a.metric_name == b.metric_name && a.target == b.target;
}

}  // namespace

void SpecStream::Evaluate(absl::Time /*now*/) {
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

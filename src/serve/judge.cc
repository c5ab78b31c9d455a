#include "serve/judge.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

bool IsCostly(const MetricTypeInfo& metric) { return metric.costly != CostlyReadings(); }

// A costly reading that nobody wanted when the snapshot was taken.
bool Lacks(const NodeSnapshot& snapshot, const MetricTypeInfo& metric) {
  if (!IsCostly(metric)) return false;
  return std::ranges::any_of(snapshot.gpus, [&metric](const GpuSample& gpu) {
    const GpuGap* const gap = FindGap(gpu, metric.field);
    return gap != nullptr && gap->reason == GpuGap::Reason::kNotWanted;
  });
}

}  // namespace

Judge::Judge(absl::Duration stale_after, const Clock& clock, const SnapshotStore& store,
             Leases& leases, const ProfileStore& profiles, std::function<void()> wake_sampler)
    : stale_after_(stale_after),
      clock_(clock),
      store_(store),
      leases_(leases),
      profiles_(profiles),
      wake_sampler_(std::move(wake_sampler)) {}

void Judge::Want(CachedTrigger& trigger, const ParsedTrigger& parsed) const {
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  if (!IsCostly(metric)) return;
  leases_.Renew(metric.costly, trigger.LeaseFrom(clock_.Now()));
  const SnapshotStore::History newest = store_.Newest();
  if (newest != nullptr && Lacks(newest->Newest(), metric)) wake_sampler_();
}

void Judge::Hold(const ParsedTrigger& parsed) const {
  const MetricTypeInfo& metric = InfoOf(parsed.trigger->metric);
  if (IsCostly(metric)) leases_.Renew(metric.costly, clock_.Now() + kShortestLease);
}

Judge::Judged Judge::Try(CachedTrigger& trigger, const Parsed& parsed) const {
  auto history = store_.Fresh();
  if (!history.ok()) return history.status();
  const MetricTypeInfo& metric = InfoOf(parsed->trigger->metric);
  if (Lacks((*history)->Newest(), metric)) {
    return absl::UnavailableError(
        absl::StrCat(metric.name, " is read only while it is asked for: not read yet"));
  }
  return trigger.Judge(parsed, **history, stale_after_);
}

}  // namespace gpuscaler

#include "workload/sampler.h"

#include <utility>

#include "base/log.h"
#include "model/free_gpus.h"

namespace gpuscaler {
namespace {

// Returns the gap that makes a GPU unusable for scaling, or null. The utilization of a MIG instance
// does not count: it is a rate, which is missing for one reading whenever the counters restart.
const GpuGap* Failure(const GpuSample& gpu) {
  for (const GpuField field : {GpuField::kMemory, GpuField::kUtilization}) {
    if (field == GpuField::kUtilization && IsMig(gpu)) continue;
    const GpuGap* const gap = FindGap(gpu, field);
    if (gap != nullptr && gap->reason == GpuGap::Reason::kFailed) return gap;
  }
  return nullptr;
}

}  // namespace

Sampler::Sampler(const Clock& clock, GpuSource& source, const Leases& leases, SnapshotStore& store,
                 KubeletAttribution* attribution, Callbacks callbacks)
    : clock_(clock),
      source_(source),
      leases_(leases),
      store_(store),
      attribution_(attribution),
      callbacks_(std::move(callbacks)) {}

absl::Status Sampler::Tick() {
  const absl::Time began_at = clock_.Now();
  absl::StatusOr<NodeSnapshot> snapshot = source_.Read(leases_.Subscription(began_at));
  absl::Status status = snapshot.status();
  callbacks_.collected(status, clock_.Now() - began_at);
  LogChanges(status);
  if (snapshot.ok()) {
    LogGpus(*snapshot);
    LogUnreadable(*snapshot);
    if (snapshot->taken_at <= newest_at_) {
      store_.PutError(absl::UnavailableError("its source shows nothing newer"));
      return status;
    }
    newest_at_ = snapshot->taken_at;
    if (attribution_ != nullptr && attribution_->Annotate(*snapshot)) {
      callbacks_.processes_changed();
    }
    holding_.Annotate(*snapshot);
    MarkFreeGpus(*snapshot);
    callbacks_.annotated(*snapshot);
    store_.Put(*std::move(snapshot));
  } else {
    store_.PutError(status);
  }
  return status;
}

void Sampler::LogChanges(const absl::Status& status) {
  const std::string error(status.message());
  if (!status.ok() && error != last_error_) LogWarn("gpu_source_lost", {{"why", error}});
  if (status.ok() && (first_ || !last_error_.empty())) LogInfo("gpu_source_found");
  last_error_ = error;
  first_ = false;
}

void Sampler::LogGpus(const NodeSnapshot& snapshot) {
  std::set<std::string> uuids;
  for (const GpuSample& gpu : snapshot.gpus) {
    uuids.insert(gpu.uuid);
    if (uuids_.contains(gpu.uuid)) continue;
    LogInfo("gpu_appeared", {{"uuid", gpu.uuid}, {"index", gpu.index}, {"name", gpu.name}});
  }
  for (const std::string& uuid : uuids_) {
    if (!uuids.contains(uuid)) LogWarn("gpu_gone", {{"uuid", uuid}});
  }
  uuids_ = std::move(uuids);
}

void Sampler::LogUnreadable(const NodeSnapshot& snapshot) {
  std::set<std::string> unreadable;
  for (const GpuSample& gpu : snapshot.gpus) {
    const GpuGap* const failure = Failure(gpu);
    const bool was_unreadable = unreadable_.contains(gpu.uuid);
    if (failure != nullptr) unreadable.insert(gpu.uuid);
    if (failure != nullptr && !was_unreadable) {
      LogWarn("gpu_unreadable", {{"uuid", gpu.uuid}, {"index", gpu.index}, {"why", Why(*failure)}});
    } else if (failure == nullptr && was_unreadable) {
      LogInfo("gpu_readable", {{"uuid", gpu.uuid}, {"index", gpu.index}});
    }
  }
  unreadable_ = std::move(unreadable);
}

}  // namespace gpuscaler

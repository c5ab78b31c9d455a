#include "app/sampler.h"

#include <utility>

#include "base/log.h"

namespace gpuscaler {

Sampler::Sampler(const Clock& clock, GpuSource& source, const Leases& leases, SnapshotStore& store,
                 Metrics& metrics)
    : clock_(clock), source_(source), leases_(leases), store_(store), metrics_(metrics) {}

absl::Status Sampler::Tick() {
  const absl::Time began_at = clock_.Now();
  absl::StatusOr<NodeSnapshot> snapshot = source_.Read(leases_.Wanted(began_at));
  absl::Status status = snapshot.status();
  metrics_.Collected(status, clock_.Now() - began_at);
  LogChanges(status);
  if (snapshot.ok()) {
    LogGpus(*snapshot);
    holding_.Annotate(*snapshot);
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

}  // namespace gpuscaler

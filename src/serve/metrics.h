// The counters of this process, and its Prometheus page.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "serve/request_metrics.h"

namespace gpuscaler {

// Files that are reloaded when they change. The last good content is kept.
enum class ReloadTarget { kGrpcTls, kMetricsTls, kProfiles };
absl::string_view Name(ReloadTarget target);  // "grpc", "metrics", "profiles"

// Counters and histograms of one process. Thread-safe.
class Metrics : public RequestMetrics {
 public:
  Metrics();
  ~Metrics() override;

  void Answered(Rpc rpc, absl::StatusCode code, absl::Duration took) override;
  void StreamsOpen(Rpc rpc, int count) override;
  void Decided(Outcome outcome) override;
  void DemandDecided(const DemandLabels& labels, const Decision& decision) override;

  // Counts one reading of the GPUs by the sampler.
  void Collected(const absl::Status& status, absl::Duration took);
  // Sets a gauge, which is 1 while the file is unusable and the last good content is kept.
  void SetReloadFailed(ReloadTarget target, bool failed);

  // The page is in Prometheus text format 0.0.4. It has the counters, and of the newest snapshot
  // its gauges, its age and `stale_after`; none of these if `newest` is null. A missing GPU and a
  // field that could not be read have no series. No GPU has one once the snapshot is older than
  // `stale_after`.
  std::string Page(const NodeSnapshot* newest, absl::Time now, absl::Duration stale_after) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  DemandMetrics demand_;
};

}  // namespace gpuscaler

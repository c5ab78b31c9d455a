// Everything this process counts, and the page Prometheus scrapes.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "serve/request_metrics.h"

namespace gpuscaler {

// What is read again when it changes; the last good state is kept.
enum class Reload { kGrpcTls, kMetricsTls, kProfiles };
absl::string_view Name(Reload reload);  // "grpc", "metrics", "profiles"

// Counters and histograms of one process. Thread-safe.
class Metrics : public RequestMetrics {
 public:
  Metrics();
  ~Metrics() override;

  void Answered(Rpc rpc, absl::StatusCode code, absl::Duration took) override;
  void StreamsOpen(Rpc rpc, int count) override;
  void Decided(Outcome outcome) override;
  void DemandDecided(const DemandLabels& labels, const Decision& decision) override;

  // One reading of the GPUs, by the sampler.
  void Collected(const absl::Status& status, absl::Duration took);
  // The gauge is 1 while the last good state is kept because the file cannot be used.
  void ReloadFailed(Reload reload, bool failed);

  // The page at `now`: the counters, and the gauges and the age of the newest snapshot, beside what
  // it may be (null: none yet, and then the page has none of them). A GPU that the snapshot lacks,
  // a field that could not be read, and every GPU once the snapshot is older than stale_after has
  // no series. Prometheus text format 0.0.4.
  std::string Page(const NodeSnapshot* newest, absl::Time now, absl::Duration stale_after) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  DemandMetrics demand_;
};

}  // namespace gpuscaler

// The counters of this process, and its Prometheus page.
#pragma once

#include <array>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "serve/request_metrics.h"
#include "serve/trigger_metrics.h"

namespace gpuscaler {

// Files that are reloaded when they change. The last good content is kept.
enum class ReloadTarget { kGrpcTls, kMetricsTls, kProfiles, kWebTls, kWebToken, kPrices };
absl::string_view Name(ReloadTarget target);  // "grpc", "metrics", "profiles"

// Counters and histograms of one process. Thread-safe.
class Metrics : public RequestMetrics {
 public:
  Metrics();

  void Answered(Rpc rpc, absl::StatusCode code, absl::Duration took) override;
  void StreamsOpen(Rpc rpc, int count) override;
  void Decided(Outcome outcome) override;
  void TriggerDecided(const TriggerLabels& labels, const Decision& decision,
                      bool computes_demand) override;

  // Counts one reading of the GPUs by the sampler.
  void Collected(const absl::Status& status, absl::Duration took);
  // Sets a gauge, which is 1 while the file is unusable and the last good content is kept.
  void SetReloadFailed(ReloadTarget target, bool failed);

  // The page is in Prometheus text format 0.0.4. It has the counters and, unless `newest` is null,
  // the newest snapshot's age, `stale_after` and the gauges of its GPUs. A field that could not be
  // read has no series. If the snapshot is older than `stale_after`, no GPU has any.
  std::string Page(const NodeSnapshot* newest, absl::Time now, absl::Duration stale_after) const;

 private:
  static constexpr size_t kStatusCodes = 17;  // 0 to 16

  // Series are cached, because a look-up by labels costs more than a request.
  struct RpcSeries {
    prometheus::Counter* requests = nullptr;
    std::array<prometheus::Counter*, kStatusCodes> errors = {};  // null: not a usual one
    prometheus::Histogram* duration = nullptr;                   // null: a stream
    prometheus::Gauge* streams_open = nullptr;                   // null: not a stream
  };

  prometheus::Counter& Error(Rpc rpc, absl::StatusCode code);

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Counter>& errors_;
  prometheus::Family<prometheus::Histogram>& durations_;
  prometheus::Family<prometheus::Gauge>& streams_open_;
  prometheus::Counter& collections_;
  prometheus::Counter& collection_errors_;
  prometheus::Histogram& collection_duration_;
  prometheus::Family<prometheus::Gauge>& reload_failed_;
  std::array<RpcSeries, kRpcs> rpcs_;
  std::array<prometheus::Counter*, kOutcomes> decisions_ = {};
  TriggerMetrics triggers_;
};

}  // namespace gpuscaler

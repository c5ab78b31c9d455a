// The API of docs/api.yaml: replies to requests from what the scaler knows. Reads only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cost/cost_report.h"
#include "model/fleet_reader.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"
#include "web/change_log.h"
#include "web/event_streams.h"
#include "web/shared_reply.h"
#include "web/trigger_history.h"
#include "web/web_reply.h"
#include "web/workload_rows.h"

namespace gpuscaler {

// The process, as /api/v1/status describes it.
struct WebInstance {
  std::string name;  // pod or host
  std::string version;
  std::string commit;
  std::string role;
  absl::Time started_at;
};

// The GPU time of the last day.
struct WebCost {
  std::function<CostReport(int hours, GroupBy by)> report;  // null: not counted
  bool has_prices = false;
  std::string currency;  // empty: not named
};

struct WebSources {
  WorkloadSource workloads;
  const TriggerHistory* history = nullptr;  // null: --history 0
  WebCost cost;
};

// The status, the fleet and the workloads are made at most once a second, for all clients. Replies
// to requests with parameters are not kept: those of /cost alone would take tens of MiB.
// Thread-safe.
class WebApi {
 public:
  // References, and the sources, must outlive it.
  WebApi(WebInstance instance, const Clock& clock, const FleetReader& fleets,
         const StalenessLimits& staleness, WebSources sources);

  // Replies for paths below /api/v1, except for events. Blocks for the time of decisions.
  WebReply Reply(const WebRequest& request);

  // The events for a client with version `since`.
  EventBatch NextEvents(int64_t since);

 private:
  using Parts = std::vector<std::string>;  // path below /api/v1
  using JsonOr = absl::StatusOr<std::string>;
  using Rows = std::shared_ptr<const std::vector<WorkloadRow>>;

  JsonOr Answer(const Parts& parts, const WebRequest& request);
  JsonOr Workload(const Parts& parts, const WebRequest& request);
  std::string Status() const;
  std::string Workloads();
  JsonOr TriggersOf(const std::string& namespace_name, const std::string& name);
  JsonOr History(const TriggerKey& key, const WebRequest& request) const;
  JsonOr Explanation(const TriggerKey& key, const WebRequest& request) const;
  JsonOr WhatIfOf(const TriggerKey& key, const WebRequest& request) const;
  JsonOr Node(const std::string& name) const;
  JsonOr Cost(const WebRequest& request) const;

  // Returns the trigger that the request names, or the only one of the ScaledObject.
  absl::StatusOr<TriggerKey> FindTrigger(const std::string& namespace_name, const std::string& name,
                                         const WebRequest& request) const;
  // Returns NOT_FOUND without a history. The present step is left out until it is recorded.
  absl::StatusOr<TriggerSeries> SeriesOf(const TriggerKey& key, const WebRequest& request) const;

  // Empty: clients do not request it at present.
  std::optional<LiveTrigger> FindLive(const TriggerKey& key) const;
  // Requires a history. A trigger that clients no longer request has the type of its newest
  // explanation, or AverageValue without one.
  TargetType TargetTypeOf(const TriggerKey& key) const;

  // At most one second old.
  Rows CurrentRows();
  std::string Spark(const TriggerKey& key, absl::Time now);

  const WebInstance instance_;
  const Clock& clock_;
  const SteadyClock real_;
  const FleetReader& fleets_;
  const StalenessLimits staleness_;
  const WebSources sources_;
  SharedReply status_;
  SharedReply fleet_;
  SharedReply workloads_;

  Mutex rows_mutex_;
  Rows rows_ ABSL_GUARDED_BY(rows_mutex_);
  absl::Time rows_at_ ABSL_GUARDED_BY(rows_mutex_) = absl::InfinitePast();

  Mutex sparks_mutex_;
  absl::Time sparks_at_ ABSL_GUARDED_BY(sparks_mutex_) = absl::InfinitePast();
  std::map<TriggerKey, std::string> sparks_ ABSL_GUARDED_BY(sparks_mutex_);

  Mutex changes_mutex_;
  ChangeLog changes_ ABSL_GUARDED_BY(changes_mutex_);
};

}  // namespace gpuscaler

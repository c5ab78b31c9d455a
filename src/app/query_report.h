// A scaler's replies to KEDA's calls for one trigger, and the resulting replicas of the HPA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/scaled_object_file.h"
#include "explain.pb.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

struct QueryReport {
  TriggerQuery trigger;
  absl::StatusOr<MetricSpec> spec = absl::UnknownError("not requested");
  absl::StatusOr<double> value = absl::UnknownError("not requested");
  absl::StatusOr<bool> active = absl::UnknownError("not requested");
  std::optional<absl::StatusOr<gpuscaler::v1::Explanation>> explanation;  // if requested
  std::optional<int> replicas;                                            // --replicas
};

// Returns true if there is no explanation, or if it matches value and activity of the report.
bool IsConsistent(const QueryReport& report);

// Returns the new spec.replicas from `report.replicas`, all of them ready: by KEDA at 0 and by the
// HPA above, within the limits of the manifest. Returns nullopt if an error keeps the present
// count, without --replicas, and for a ScaledJob, which has no replicas.
std::optional<int> DesiredReplicas(const QueryReport& report);

std::string QueryText(const QueryReport& report);
std::string QueryJson(const std::vector<QueryReport>& reports);

}  // namespace gpuscaler

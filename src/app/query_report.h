// What a scaler answered to KEDA's questions about one trigger, and what the HPA makes of it.
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
  TriggerToAsk trigger;
  absl::StatusOr<MetricSpec> spec = absl::UnknownError("not asked");
  absl::StatusOr<double> value = absl::UnknownError("not asked");
  absl::StatusOr<bool> active = absl::UnknownError("not asked");
  std::optional<absl::StatusOr<gpuscaler::v1::Explanation>> explanation;  // where it was asked for
  std::optional<int> replicas;                                            // of --replicas
};

// Whether the explanation, if there is one, is of the value and the activity in the report.
bool IsOfOneMoment(const QueryReport& report);

// What spec.replicas would become from `report.replicas`, all of them ready: KEDA's doing at 0, the
// HPA's above, within the limits of the manifest. Empty when it would stay because an answer is
// missing, when --replicas is, and of a ScaledJob, which has no replicas.
std::optional<int> DesiredReplicas(const QueryReport& report);

std::string QueryText(const QueryReport& report);
std::string QueryJson(const std::vector<QueryReport>& reports);

}  // namespace gpuscaler

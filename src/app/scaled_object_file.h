// The external triggers of ScaledObject and ScaledJob manifests, as sent by KEDA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serve/scaler_client.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct TriggerQuery {
  TriggerRef ref;
  // `fooFromEnv` keys of the manifest, which `ref` does not have. Their values are variables of the
  // workload's containers, so only KEDA can resolve them.
  std::vector<std::string> left_out;
  std::string title;                                   // "ScaledObject default/llm, trigger 0"
  TargetType target_type = TargetType::kAverageValue;  // the trigger's own metricType, for the HPA
  bool is_job = false;                                 // a ScaledJob, which has no HPA
  int min_replicas = 0;
  std::optional<int> max_replicas;
};

// Reads all documents, including the objects of a List. Returns INVALID_ARGUMENT if the text is not
// YAML, or has no trigger of type external or external-push.
absl::StatusOr<std::vector<TriggerQuery>> TriggersOfYaml(absl::string_view yaml);

}  // namespace gpuscaler

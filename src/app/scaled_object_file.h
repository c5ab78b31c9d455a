// The external triggers of ScaledObject and ScaledJob manifests, as KEDA would send them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scaling/trigger.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

struct TriggerToAsk {
  TriggerRef ref;
  std::string title;                                   // "ScaledObject default/llm, trigger 0"
  TargetType target_type = TargetType::kAverageValue;  // of the HPA: the trigger's own metricType
  int min_replicas = 0;
  std::optional<int> max_replicas;
};

// INVALID_ARGUMENT when it is not YAML, or has no trigger of type external or external-push.
// `fooFromEnv` values stay what they are in the file: only KEDA can resolve them.
absl::StatusOr<std::vector<TriggerToAsk>> TriggersOfYaml(absl::string_view yaml);

}  // namespace gpuscaler

// The external triggers of ScaledObject and ScaledJob manifests, as KEDA would send them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serve/scaler_client.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct TriggerToAsk {
  TriggerRef ref;
  // `fooFromEnv` keys of the manifest, which are not in `ref`: their values name variables of the
  // workload's containers, and only KEDA can resolve them.
  std::vector<std::string> left_out;
  std::string title;                                   // "ScaledObject default/llm, trigger 0"
  TargetType target_type = TargetType::kAverageValue;  // of the HPA: the trigger's own metricType
  bool is_job = false;                                 // of a ScaledJob: no HPA
  int min_replicas = 0;
  std::optional<int> max_replicas;
};

// Of every document, those in a List too. INVALID_ARGUMENT when it is not YAML, or has no trigger
// of type external or external-push.
absl::StatusOr<std::vector<TriggerToAsk>> TriggersOfYaml(absl::string_view yaml);

}  // namespace gpuscaler

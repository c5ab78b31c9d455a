#include "lab/demo_triggers.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/demo_gateway.h"
#include "trigger/profile.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

bool IsInDemo(MetricType metric) {
  return metric == MetricType::kMemoryUsedPercent || metric == MetricType::kGpuUtilization ||
         metric == MetricType::kVllmQueueDepth || metric == MetricType::kRequestsInFlight;
}

TriggerRef RefOf(Metadata metadata) {
  return {.name = kDemoName, .namespace_name = kDemoNamespace, .metadata = std::move(metadata)};
}

}  // namespace

std::vector<std::string> DemoProfiles() {
  std::vector<std::string> names;
  for (const auto& [name, profile] : BuiltInProfiles()) {
    if (IsInDemo(profile.trigger.metric)) names.push_back(name);
  }
  return names;
}

absl::StatusOr<TriggerRef> DemoTrigger(const std::string& profile, int engine_port,
                                       const EnginePreset& engine) {
  Metadata metadata = {{"profile", profile}};
  ASSIGN_OR_RETURN(const Trigger trigger, ParseTrigger(metadata, BuiltInProfiles()));
  if (ReadsEngines(trigger) || ReadsPressure(trigger)) {
    metadata["engineEndpoint"] = absl::StrCat("http://", kDemoName, ":", engine_port);
  }
  if (ReadsPressure(trigger)) {
    metadata["maxConcurrency"] = absl::StrCat(engine.batch.max_num_seqs);
    metadata["tpotSloMs"] = absl::StrCat(absl::ToInt64Milliseconds(engine.goals.per_output_token));
  }
  return RefOf(std::move(metadata));
}

// The target is so high that it never requests more than one replica: the number is the profile's.
TriggerRef DemandTrigger(int gateway_port) {
  return RefOf({{"metricType", "prometheus"},
                {"prometheusEndpoint", absl::StrCat("http://gateway:", gateway_port, "/metrics")},
                {"prometheusMetric", DemoGateway::kHeldMetric},
                {"targetValue", "1000"}});
}

std::string TriggerYaml(const TriggerRef& trigger, const std::string& scaler_address) {
  std::string text = absl::StrCat(
      "  - type: external\n    metadata:\n      scalerAddress: ", scaler_address, "\n");
  for (const auto& [key, value] : trigger.metadata) {
    const bool number =
        !value.empty() && value.find_first_not_of("0123456789.") == std::string::npos;
    const char* const quote = number ? "\"" : "";  // metadata must be strings
    absl::StrAppend(&text, "      ", key, ": ", quote, value, quote, "\n");
  }
  return text;
}

std::string QueryArguments(const TriggerRef& trigger, const std::string& scaler_address) {
  std::string line = absl::StrCat("query ", scaler_address, " --name=", trigger.name);
  for (const auto& [key, value] : trigger.metadata) absl::StrAppend(&line, " ", key, "=", value);
  return line;
}

}  // namespace gpuscaler

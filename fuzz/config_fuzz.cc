// Configuration files and values of environment variables.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "config/options.h"
#include "config/settings.h"
#include "promise.h"

namespace gpuscaler {
namespace {

void CheckConfig(const std::vector<Setting>& settings) {
  const auto resolved = Resolve(settings);
  if (!resolved.ok()) {
    PROMISE(absl::IsInvalidArgument(resolved.status()) && !resolved.status().message().empty());
    return;
  }
  const Config& config = resolved->config;
  PROMISE(config.poll_interval > absl::ZeroDuration());
  PROMISE(config.StaleAfter() >= 2 * config.poll_interval);
  PROMISE(config.hang_after >= 2 * config.poll_interval);
  PROMISE(config.port >= kAnyPort && config.port <= 65535);
  PROMISE(config.role != Role::kAggregator || !config.agents.empty());
  for (const Setting& setting : settings) {
    PROMISE(resolved->origins.contains(setting.name));
    PROMISE(absl::StrContains(Reported(*resolved, setting.name, setting.value), setting.name));
  }
}

void CheckFile(const std::string& yaml) {
  const auto settings = SettingsOfYaml("a.yaml", yaml);
  if (!settings.ok()) {
    PROMISE(absl::IsInvalidArgument(settings.status()));
    PROMISE(absl::StartsWith(settings.status().message(), "file a.yaml:"));
    return;
  }
  Environment environment;
  for (const Setting& setting : *settings) {
    const Option* const option = FindOption(setting.name);
    PROMISE(option != nullptr && absl::StartsWith(setting.origin, "file a.yaml:"));
    environment[EnvironmentName(*option)] = setting.value;
  }
  CheckConfig(*settings);
  CheckConfig(SettingsOfEnvironment(environment));
  PROMISE(UnknownVariables(environment).empty());
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckFile({reinterpret_cast<const char*>(data), size});
  return 0;
}

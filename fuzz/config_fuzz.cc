// Configuration files and values of environment variables.
#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/match.h"
#include "fuzz_assert.h"
#include "role/option_value.h"
#include "role/options.h"
#include "role/settings.h"

namespace gpuscaler {
namespace {

// TextOf() and Set() of each option are inverse.
void CheckTexts(const Config& config) {
  for (const Option& option : Options()) {
    const std::string text = TextOf(option, config);
    if (text.empty()) continue;  // nothing is set
    Config again;
    FUZZ_ASSERT(Set(option, text, again).ok());
    FUZZ_ASSERT(
        std::visit([&](auto member) { return again.*member == config.*member; }, option.member));
  }
}

void CheckConfig(const std::vector<Setting>& settings) {
  const auto resolved = Resolve(settings);
  if (!resolved.ok()) {
    FUZZ_ASSERT(absl::IsInvalidArgument(resolved.status()) && !resolved.status().message().empty());
    return;
  }
  const Config& config = resolved->config;
  CheckTexts(config);
  FUZZ_ASSERT(config.poll_interval > absl::ZeroDuration());
  FUZZ_ASSERT(config.StaleAfter() >= 2 * config.poll_interval);
  FUZZ_ASSERT(config.hang_after >= 2 * config.poll_interval);
  FUZZ_ASSERT(config.port >= kAnyPort && config.port <= 65535);
  FUZZ_ASSERT(config.role != Role::kAggregator || !config.agents.empty());
  for (const Setting& setting : settings) {
    FUZZ_ASSERT(resolved->origins.contains(setting.name));
    FUZZ_ASSERT(absl::StrContains(Reported(*resolved, setting.name), setting.name));
  }
}

void CheckFile(const std::string& yaml) {
  const auto settings = SettingsOfYaml("a.yaml", yaml);
  if (!settings.ok()) {
    FUZZ_ASSERT(absl::IsInvalidArgument(settings.status()));
    FUZZ_ASSERT(absl::StartsWith(settings.status().message(), "file a.yaml:"));
    return;
  }
  Environment environment;
  for (const Setting& setting : *settings) {
    const Option* const option = FindOption(setting.name);
    FUZZ_ASSERT(option != nullptr && absl::StartsWith(setting.origin, "file a.yaml:"));
    environment[EnvironmentName(*option)] = setting.value;
  }
  CheckConfig(*settings);
  CheckConfig(SettingsOfEnvironment(environment));
  FUZZ_ASSERT(UnknownVariables(environment).empty());
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckFile({reinterpret_cast<const char*>(data), size});
  return 0;
}

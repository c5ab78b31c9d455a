// Reads the layers of the configuration and resolves them: defaults < file < environment < flags.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "role/config.h"

namespace gpuscaler {

using Environment = std::map<std::string, std::string, std::less<>>;
Environment CurrentEnvironment();

// The value of one option in one layer.
struct Setting {
  std::string name;
  std::string value;
  std::string origin;  // "flag --port", "environment KEDA_GPU_SCALER_PORT", "file a.yaml:3: port"
};

// Reads a file of --config: a YAML map of option names to values. Returns INVALID_ARGUMENT if it
// cannot be read, is not such a map, or has an unknown or repeated key.
absl::StatusOr<std::vector<Setting>> SettingsOfFile(const std::string& path);
absl::StatusOr<std::vector<Setting>> SettingsOfYaml(const std::string& path,
                                                    const std::string& yaml);

// Reads KEDA_GPU_SCALER_<NAME>. Ignores empty values, and the variables that Kubernetes sets for a
// Service with the name keda-gpu-scaler (KEDA_GPU_SCALER_PORT=tcp://10.0.0.1:6000).
std::vector<Setting> SettingsOfEnvironment(const Environment& environment);

// Returns the variables with the prefix KEDA_GPU_SCALER_ that are no option, each with the nearest
// known name. They deserve only a warning, because other programs may share the prefix.
std::vector<std::string> UnknownVariables(const Environment& environment);

struct Resolved {
  Config config;
  std::map<std::string, std::string, std::less<>> origins;  // keyed by option; absent: the default
};

// Returns "grace=20s (flag --grace)" or "poll-interval=2s (default)". `name` must be an option's.
std::string Reported(const Resolved& resolved, absl::string_view name);

// The last setting of an option counts. Returns INVALID_ARGUMENT, with the layer, for a bad value,
// even if a later setting overrides it.
absl::StatusOr<Resolved> Resolve(const std::vector<Setting>& settings);

// Resolves all layers. The file is the one of --config in `flags`, else of KEDA_GPU_SCALER_CONFIG,
// if any.
absl::StatusOr<Resolved> ResolveSettings(const std::vector<Setting>& flags,
                                         const Environment& environment);

// If `error` begins with the path of a file that an option names, prepends the layer:
// "environment KEDA_GPU_SCALER_TLS_CERT=/a.pem: cannot be read".
absl::Status NameLayer(const Resolved& resolved, const absl::Status& error);

constexpr absl::string_view kConfigFlag = "config";
constexpr absl::string_view kConfigVariable = "KEDA_GPU_SCALER_CONFIG";
constexpr absl::string_view kConfigHelp =
    "YAML file of options: each flag's name without the leading dashes.";

}  // namespace gpuscaler

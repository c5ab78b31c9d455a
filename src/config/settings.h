// The layers of the configuration, and what they resolve to: defaults < file < environment < flags.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/config.h"

namespace gpuscaler {

using Environment = std::map<std::string, std::string, std::less<>>;
Environment CurrentEnvironment();

// What one layer says about one option.
struct Setting {
  std::string name;
  std::string value;
  std::string origin;  // "flag --port", "environment KEDA_GPU_SCALER_PORT", "file a.yaml:3: port"
};

// A YAML map of option names to values, as --config names it. INVALID_ARGUMENT for a file that
// cannot be read, is not such a map, or has an unknown or repeated key.
absl::StatusOr<std::vector<Setting>> SettingsOfFile(const std::string& path);
absl::StatusOr<std::vector<Setting>> SettingsOfYaml(const std::string& path,
                                                    const std::string& yaml);

// KEDA_GPU_SCALER_<NAME>; an empty value is none. What Kubernetes puts there for a Service that is
// called keda-gpu-scaler (KEDA_GPU_SCALER_PORT=tcp://10.0.0.1:6000) is passed over.
std::vector<Setting> SettingsOfEnvironment(const Environment& environment);

// The variables of our prefix that mean nothing to us, each with its nearest known name: worth a
// warning only, for others may share the prefix.
std::vector<std::string> UnknownVariables(const Environment& environment);

struct Resolved {
  Config config;
  std::map<std::string, std::string, std::less<>> origins;  // by option name; absent: the default
};

// "stale-after=1s (flag --stale-after)", "poll-interval=2s (default)".
std::string Reported(const Resolved& resolved, absl::string_view name, absl::string_view value);

// The last setting of an option counts; a bad value is INVALID_ARGUMENT naming its layer, even
// where a later one overrides it.
absl::StatusOr<Resolved> Resolve(const std::vector<Setting>& settings);

// All layers: the file is the one that the flag --config among `flags`, else KEDA_GPU_SCALER_CONFIG
// names, if any.
absl::StatusOr<Resolved> ResolveSettings(const std::vector<Setting>& flags,
                                         const Environment& environment);

// `error` as it is, or, where it begins with the path of a file that an option names, with that
// option's layer before it: "environment KEDA_GPU_SCALER_TLS_CERT=/a.pem: cannot be read".
absl::Status NameLayer(const Resolved& resolved, const absl::Status& error);

constexpr absl::string_view kConfigFlag = "config";
constexpr absl::string_view kConfigVariable = "KEDA_GPU_SCALER_CONFIG";
constexpr absl::string_view kConfigHelp =
    "YAML file of options: each flag's name without the leading dashes.";

}  // namespace gpuscaler

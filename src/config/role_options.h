// Settings that the role in force has no use for. On the command line they are a mistake; the
// environment and the file may be shared by all roles, as one ConfigMap is.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/options.h"
#include "config/settings.h"

namespace gpuscaler {

std::string Name(Role role);  // "aggregator"

bool IsRead(const Option& option, Role role);

// "standalone", "agent or standalone"; "" where every role reads the option.
std::string RolesText(const Option& option);

// INVALID_ARGUMENT names each of the flags that the role does not read, and the roles that do.
absl::Status CheckFlagsOfRole(const std::vector<Setting>& flags, const Resolved& resolved);

// Those of the other layers, each by its origin: "environment KEDA_GPU_SCALER_GPU_SOURCE".
std::vector<std::string> SettingsOfOtherRoles(const Resolved& resolved);

}  // namespace gpuscaler

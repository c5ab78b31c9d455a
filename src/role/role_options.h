// Settings that the present role does not read. As flags they are errors. The environment and the
// file may be shared by all roles, for example in one ConfigMap.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "role/options.h"
#include "role/settings.h"

namespace gpuscaler {

bool IsRead(const Option& option, Role role);

// Returns "standalone" or "agent or standalone", or "" if every role reads the option.
std::string RolesText(const Option& option);

// Returns INVALID_ARGUMENT with each flag that the role does not read, and the roles that do.
absl::Status CheckFlagsOfRole(const std::vector<Setting>& flags, const Resolved& resolved);

// Returns the origins of such settings in the other layers: "environment
// KEDA_GPU_SCALER_GPU_SOURCE".
std::vector<std::string> SettingsOfOtherRoles(const Resolved& resolved);

}  // namespace gpuscaler

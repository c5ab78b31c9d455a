// The exit codes of both programs, and the table of the scaler's for its pages.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

enum ExitCode : int {
  kExitOk = 0,
  kExitFindings = 1,
  kExitUsage = 2,
  kExitCannotServe = 3,
  kExitUnavailable = 4,
  kExitOutput = 5,
};

struct ExitCodeInfo {
  ExitCode code;
  absl::string_view meaning;
};

// Returns what the codes mean for keda-gpu-scaler.
std::span<const ExitCodeInfo> ExitCodes();

// Returns kExitUsage for INVALID_ARGUMENT, and `otherwise` for other errors.
ExitCode ExitCodeOf(const absl::Status& error, ExitCode otherwise);

}  // namespace gpuscaler

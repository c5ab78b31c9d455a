// What the program's exit status says: one table, for main and for the reference page.
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
std::span<const ExitCodeInfo> ExitCodes();

// Of an error that ends the program: INVALID_ARGUMENT is kExitUsage, any other `otherwise`.
ExitCode ExitCodeOf(const absl::Status& error, ExitCode otherwise);

}  // namespace gpuscaler

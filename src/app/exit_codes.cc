#include "app/exit_codes.h"

#include <array>

namespace gpuscaler {

std::span<const ExitCodeInfo> ExitCodes() {
  static constexpr std::array<ExitCodeInfo, 6> kCodes = {{
      {kExitOk, "Done; of serve: stopped in order after SIGTERM or SIGINT."},
      {kExitFindings,
       "The answer is no: lint found an error or a warning, query or explain got an error from the "
       "scaler, or it has no such workload or explanation."},
      {kExitUsage,
       "Bad usage or configuration, or a file that cannot be read; the message names flag, "
       "environment variable or file, the value, and what is allowed."},
      {kExitCannotServe, "An address cannot be bound: taken, or not of this host."},
      {kExitUnavailable,
       "gpus cannot read the GPUs or finds no such --device; query, top, explain, report or "
       "gpus --fleet does not reach a scaler, report does not reach Prometheus, or the scaler has "
       "no "
       "node yet."},
      {kExitOutput,
       "Standard output cannot be written, as on a full disk; a reader that has gone is no error."},
  }};
  return kCodes;
}

ExitCode ExitCodeOf(const absl::Status& error, ExitCode otherwise) {
  return absl::IsInvalidArgument(error) ? kExitUsage : otherwise;
}

}  // namespace gpuscaler

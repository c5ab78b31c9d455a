// Flags with durations and fractional numbers as values.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "app/command.h"

namespace gpuscaler {

// `variable` must outlive the command. The help ends with the range.
Flag DurationFlag(std::string name, const std::string& help, absl::Duration least,
                  absl::Duration most, absl::Duration* variable);
Flag NumberFlag(std::string name, const std::string& help, double least, double most,
                double* variable);

}  // namespace gpuscaler

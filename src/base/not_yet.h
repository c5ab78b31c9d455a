// The status of a result that was requested and has not arrived. Callers wait for it, whereas any
// other error is final.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

absl::Status NotYet(absl::string_view message);  // UNAVAILABLE

bool IsNotYet(const absl::Status& status);

}  // namespace gpuscaler

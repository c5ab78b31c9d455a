// What somebody has been asked for and nobody has said so far: worth waiting for, where a failure
// is an answer already.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

absl::Status NotYet(absl::string_view message);  // UNAVAILABLE

bool IsNotYet(const absl::Status& status);

}  // namespace gpuscaler

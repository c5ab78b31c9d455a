// Why an agent's stream ended, with what to do about it.
#pragma once

#include "absl/status/status.h"
#include "wire/client_call.h"

namespace gpuscaler {

// Returns the error of a stream's end. Never OK.
absl::Status LossOf(const CallEnd& end);

}  // namespace gpuscaler

// Why the stream of an agent ended, and what to do about it.
#pragma once

#include "absl/status/status.h"
#include "wire/client_call.h"

namespace gpuscaler {

// Returns the error to report after the Watch stream of an agent ended, with advice if any.
// Never OK: also an agent that ends the stream without an error is lost. "It" and "its" in the
// message stand for the agent, since the message is reported together with its address.
absl::Status AgentStreamError(const CallEnd& end);

}  // namespace gpuscaler

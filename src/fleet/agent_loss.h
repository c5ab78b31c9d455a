// Why an agent is not heard any more, in words that say what to do.
#pragma once

#include "absl/status/status.h"

namespace gpuscaler {

// Of a stream that ended so; `with_tls`: we speak TLS to agents. Never OK.
absl::Status LossOf(const absl::Status& end, bool with_tls);

}  // namespace gpuscaler

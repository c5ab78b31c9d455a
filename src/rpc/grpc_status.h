// A gRPC status as absl::Status.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace gpuscaler {

// An error always has a text: many a reader takes an empty one for no error.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace gpuscaler

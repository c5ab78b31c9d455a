// Our Status as gRPC's, and back.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace gpuscaler {

// The message is cut to what fits a client's 8 KiB of trailing metadata: a longer one would reach
// nobody, the client gets RESOURCE_EXHAUSTED instead.
grpc::Status ToGrpc(const absl::Status& status);

// An error always has a text: many a reader takes an empty one for no error.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace gpuscaler

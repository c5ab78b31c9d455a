#include "rpc/grpc_status.h"

#include <string>

namespace gpuscaler {

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string& text = status.error_message();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      text.empty() ? "no reason was given" : text);
}

}  // namespace gpuscaler

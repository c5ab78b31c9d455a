#include "rpc/grpc_status.h"

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

// Percent-encoding on the wire makes three bytes of each that is not printable ASCII.
constexpr size_t kLongestMessage = 2000;

bool ContinuesCharacter(char byte) { return (byte & 0xC0) == 0x80; }  // UTF-8

std::string Shortened(absl::string_view message) {
  if (message.size() <= kLongestMessage) return std::string(message);
  size_t end = kLongestMessage;
  while (end > 0 && ContinuesCharacter(message[end])) --end;
  return std::string(message.substr(0, end)) + "...";
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Shortened(status.message()));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string& text = status.error_message();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      text.empty() ? "no reason was given" : text);
}

}  // namespace gpuscaler

#include "wire/methods.h"

#include "absl/status/status.h"

namespace gpuscaler {

void Reply(ServerCall& call, const google::protobuf::MessageLite& message) {
  call.Write(message.SerializeAsString());
  call.Finish(absl::OkStatus());
}

void OneMessageHandler::OnMessage(std::string bytes) {
  if (std::exchange(has_message_, true)) {
    has_failed_ = true;
    bytes_ = {};
    return call_->Finish(absl::InternalError("the method takes one message; there are more"));
  }
  if (!call_->Reserve(bytes.size())) {
    has_failed_ = true;
    return call_->Finish(
        absl::ResourceExhaustedError("too many messages are unfinished; try again"));
  }
  bytes_ = std::move(bytes);
}

void OneMessageHandler::OnLastMessage() {
  if (has_failed_) return;
  if (!has_message_) {
    return call_->Finish(absl::InternalError("the method takes one message; there is none"));
  }
  call_->Release(bytes_.size());
  if (!Take(std::exchange(bytes_, {}))) {
    call_->Finish(absl::InternalError("the message is not one of the method's"));
  }
}

}  // namespace gpuscaler

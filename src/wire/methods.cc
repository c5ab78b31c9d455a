#include "wire/methods.h"

#include "absl/status/status.h"

namespace gpuscaler {
namespace {

class OneMessageHandler : public ServerCall::Handler {
 public:
  // The table of methods, which has `take`, outlives its calls.
  OneMessageHandler(std::shared_ptr<ServerCall> call, const TakeMessage& take)
      : call_(std::move(call)), take_(take) {}

  void OnMessage(std::string bytes) override {
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

  void OnLastMessage() override {
    if (has_failed_) return;
    if (!has_message_) {
      return call_->Finish(absl::InternalError("the method takes one message; there is none"));
    }
    call_->Release(bytes_.size());
    std::optional<gpuscaler::OnEnd> at_end = take_(call_, std::exchange(bytes_, {}));
    if (!at_end.has_value()) {
      return call_->Finish(
          absl::InternalError("the message is not one of the method's, or too large in memory"));
    }
    at_end_ = *std::move(at_end);
  }

  void OnEnd() override {
    if (at_end_ != nullptr) at_end_();
  }

 private:
  const std::shared_ptr<ServerCall> call_;
  const TakeMessage& take_;
  std::string bytes_;
  bool has_message_ = false;
  bool has_failed_ = false;
  gpuscaler::OnEnd at_end_;
};

}  // namespace

void Reply(ServerCall& call, const google::protobuf::MessageLite& message) {
  call.Write(message.SerializeAsString());
  call.Finish(absl::OkStatus());
}

Methods::value_type OneMessageMethod(std::string path, TakeMessage take) {
  return {std::move(path), [take = std::move(take)](const std::shared_ptr<ServerCall>& call) {
            return std::make_unique<OneMessageHandler>(call, take);
          }};
}

}  // namespace gpuscaler

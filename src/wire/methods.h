// Methods on protobuf's messages.
//
//   const Methods methods = {
//       Unary<PingRequest>("/ping.Ping/Ping", [](const std::shared_ptr<ServerCall>& call,
//                                                PingRequest request) {
//         Reply(*call, PingResponse());
//       })};
#pragma once

#include <google/protobuf/message_lite.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "wire/server_call.h"

namespace gpuscaler {

// Sends `message` and ends the call with OK. Thread-safe.
void Reply(ServerCall& call, const google::protobuf::MessageLite& message);

// Receives the request of a method that takes one message. If a client sends none, two, or bytes
// that are no such message, the call ends with INTERNAL, as grpc-go's servers end it.
class OneMessageHandler : public ServerCall::Handler {
 public:
  explicit OneMessageHandler(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}

  void OnMessage(std::string bytes) final;
  void OnLastMessage() final;

 protected:
  // Returns false if `bytes` are no such message.
  virtual bool Take(const std::string& bytes) = 0;

  const std::shared_ptr<ServerCall> call_;

 private:
  std::string bytes_;
  bool has_message_ = false;
  bool has_failed_ = false;
};

// The handler of a method with one request and a stream of answers; a derived class may use
// OnWritten() and OnEnd().
template <typename Request>
class RequestHandler : public OneMessageHandler {
 public:
  using OneMessageHandler::OneMessageHandler;

 private:
  // The client has sent all.
  virtual void OnRequest(Request request) = 0;

  bool Take(const std::string& bytes) final {
    Request request;
    if (!request.ParseFromString(bytes)) return false;
    OnRequest(std::move(request));
    return true;
  }
};

// The entry of a method with one request and one answer. `answer` is called on the loop's thread
// and must not block; it, or any thread later, calls Reply() or Finish(). The call may have ended
// by then.
template <typename Request>
Methods::value_type Unary(
    std::string path,
    std::function<void(const std::shared_ptr<ServerCall>& call, Request request)> answer) {
  class Handler : public RequestHandler<Request> {
   public:
    // The table of methods outlives its calls.
    Handler(std::shared_ptr<ServerCall> call, const decltype(answer)& answer)
        : RequestHandler<Request>(std::move(call)), answer_(answer) {}

   private:
    void OnRequest(Request request) override { answer_(this->call_, std::move(request)); }

    const decltype(answer)& answer_;
  };
  return {std::move(path), [answer = std::move(answer)](const std::shared_ptr<ServerCall>& call) {
            return std::make_unique<Handler>(call, answer);
          }};
}

// Called once, at the end of a call, on the loop's thread.
using OnEnd = std::function<void()>;

// The entry of a method with one request and a stream of answers. `open` is called as Unary()'s
// `answer` is; what it returns is called at the call's end.
template <typename Request>
Methods::value_type ServerStreaming(
    std::string path,
    std::function<OnEnd(const std::shared_ptr<ServerCall>& call, Request request)> open) {
  class Handler : public RequestHandler<Request> {
   public:
    Handler(std::shared_ptr<ServerCall> call, const decltype(open)& open)
        : RequestHandler<Request>(std::move(call)), open_(open) {}

    void OnEnd() override {
      if (at_end_ != nullptr) at_end_();
    }

   private:
    void OnRequest(Request request) override { at_end_ = open_(this->call_, std::move(request)); }

    const decltype(open)& open_;
    gpuscaler::OnEnd at_end_;
  };
  return {std::move(path), [open = std::move(open)](const std::shared_ptr<ServerCall>& call) {
            return std::make_unique<Handler>(call, open);
          }};
}

}  // namespace gpuscaler

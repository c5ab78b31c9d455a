// Calls to one server.
//
//   EventLoop loop;
//   Channel channel(loop, {.address = "scaler.keda:6000"});
//   const auto reply = channel.Call<IsActiveResponse>("/externalscaler.ExternalScaler/IsActive",
//                                                     ref, {.timeout = absl::Seconds(5)});
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "wire/client_call.h"
#include "wire/event_loop.h"
#include "wire/target.h"

namespace gpuscaler {

struct UnaryAnswer {
  CallEnd end;
  std::string message;  // if the end's status is OK
};

// Connects at its first call, and again at the next one after the connection was lost or the server
// has sent GOAWAY. The name is resolved at each attempt. Does not retry: all calls that
// wait for an attempt fail with it. Thread-safe.
class Channel {
 public:
  // `loop` outlives the channel and must not be stopped before its calls have ended.
  Channel(EventLoop& loop, Target target);
  // Calls end with CANCELLED on the loop's thread, maybe after the destructor.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Starts a call of any kind. `method` is "/package.Service/Method". On another thread than the
  // loop's, `listener` may be called before it returns.
  std::shared_ptr<ClientCall> Start(std::string method, CallOptions options,
                                    ClientCall::Listener& listener);

  // Blocks until one message has answered the request, for `options.timeout` at most. Must not be
  // called on the loop's thread.
  UnaryAnswer CallRaw(std::string method, std::string request, CallOptions options);

  // The same with messages of protobuf. INTERNAL: the answer is not a `Reply`.
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(const std::string& method, const Request& request,
                             const CallOptions& options) {
    const UnaryAnswer answer = CallRaw(method, request.SerializeAsString(), options);
    if (!answer.end.status.ok()) return answer.end.status;
    Reply reply;
    if (!reply.ParseFromString(answer.message)) {
      return absl::InternalError("the answer is not the message that the method returns");
    }
    return reply;
  }

 private:
  class Impl;
  EventLoop& loop_;
  const std::string address_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace gpuscaler

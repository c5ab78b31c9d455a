// Methods on protobuf's messages.
//
//   const Methods methods = {
//       Unary<PingRequest>("/ping.Ping/Ping", [](const std::shared_ptr<ServerCall>& call,
//                                                PingRequest request) {
//         Reply(*call, PingResponse());
//       })};
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "wire/parse_message.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Sends `message` and ends the call with OK. Thread-safe.
void Reply(ServerCall& call, const google::protobuf::MessageLite& message);

// A request's memory. One with 2 MiB of text has little more, and is refused with a better error.
inline constexpr size_t kLargestRequest = size_t{4} << 20;

// Called once, at the end of a call, on the loop's thread.
using OnEnd = std::function<void()>;

// Takes the one message of a call, on the loop's thread; must not block. Returns nullopt if `bytes`
// are no such message, else the function to call at the call's end, or null.
using TakeMessage = std::function<std::optional<OnEnd>(const std::shared_ptr<ServerCall>& call,
                                                       const std::string& bytes)>;

// The entry of a method that takes one message. If a client sends none, two, or bytes that are no
// such message, the call ends with INTERNAL, as grpc-go's servers end it.
Methods::value_type OneMessageMethod(std::string path, TakeMessage take);

// The entry of a method with one request and a stream of answers. `open` is called on the loop's
// thread and must not block. `open`, or any thread later, calls Write() and Finish(); the call may
// have ended by then. The function that `open` returns, null for none, is called at the call's end.
template <typename Request>
Methods::value_type ServerStreaming(
    std::string path,
    std::function<OnEnd(const std::shared_ptr<ServerCall>& call, Request request)> open) {
  return OneMessageMethod(
      std::move(path),
      [open = std::move(open)](const std::shared_ptr<ServerCall>& call,
                               const std::string& bytes) -> std::optional<OnEnd> {
        Request request;
        if (!ParseMessage(bytes, kLargestRequest, request)) return std::nullopt;
        return open(call, std::move(request));
      });
}

// The entry of a method with one request and one answer. `answer` is called as `open` above.
// `answer`, or any thread later, calls Reply() or Finish().
template <typename Request>
Methods::value_type Unary(
    std::string path,
    std::function<void(const std::shared_ptr<ServerCall>& call, Request request)> answer) {
  return ServerStreaming<Request>(
      std::move(path),
      [answer = std::move(answer)](const std::shared_ptr<ServerCall>& call, Request request) {
        answer(call, std::move(request));
        return OnEnd();
      });
}

}  // namespace gpuscaler

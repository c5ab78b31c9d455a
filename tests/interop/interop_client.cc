// gRPC's interoperability cases with our client, against any server of grpc.testing.TestService.
//
//   interop_client ADDRESS CASE [CA]
//
// ADDRESS is host:port or unix:/path. Prints why a case failed, and exits with 1.
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "interop.pb.h"
#include "wire/channel.h"
#include "wire/client_tls.h"

namespace gpuscaler {
namespace {

namespace testing = grpc::testing;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr int kLargeRequest = 271'828, kLargeAnswer = 314'159;
constexpr int kRequestSizes[] = {27'182, 8, 1'828, 45'904};
constexpr int kAnswerSizes[] = {31'415, 9, 2'653, 58'979};

std::string Zeros(int size) { return std::string(static_cast<size_t>(size), '\0'); }

std::string OutputRequest(const std::vector<int>& answers, int payload) {
  testing::StreamingOutputCallRequest request;
  for (const int size : answers) request.add_response_parameters()->set_size(size);
  request.mutable_payload()->set_body(Zeros(payload));
  return request.SerializeAsString();
}

class Stream : public ClientCall::Listener {
 public:
  Stream(Channel& channel, const std::string& method, CallOptions options = {.timeout = kLong})
      : call_(channel.Start(absl::StrCat("/grpc.testing.TestService/", method), std::move(options),
                            *this)) {}

  ClientCall& call() { return *call_; }

  // Returns nothing if the call ended before that message.
  std::optional<std::string> WaitForMessage(size_t number) {
    MutexLock lock(mutex_);
    while (messages_.size() < number && !end_) changed_.Wait(mutex_);
    if (messages_.size() < number) return std::nullopt;
    return messages_[number - 1];
  }
  CallEnd WaitForEnd() {
    MutexLock lock(mutex_);
    while (!end_) changed_.Wait(mutex_);
    return *end_;
  }
  size_t messages() {
    MutexLock lock(mutex_);
    return messages_.size();
  }
  CallMetadata headers() {
    MutexLock lock(mutex_);
    return headers_;
  }

 private:
  void OnHeaders(const CallMetadata& headers) override {
    MutexLock lock(mutex_);
    headers_ = headers;
  }
  void OnMessage(std::string bytes) override {
    MutexLock lock(mutex_);
    messages_.push_back(std::move(bytes));
    changed_.NotifyAll();
  }
  void OnEnd(const CallEnd& end) override {
    MutexLock lock(mutex_);
    end_ = end;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  CallMetadata headers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mutex_);
  std::optional<CallEnd> end_ ABSL_GUARDED_BY(mutex_);
  const std::shared_ptr<ClientCall> call_;  // last: it may call back at once
};

absl::Status Expect(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : absl::InternalError(what);
}

absl::Status ExpectStatus(const absl::Status& got, absl::StatusCode code,
                          const std::string& message) {
  return Expect(got.code() == code && got.message() == message, got.ToString());
}

absl::Status ExpectCode(const absl::Status& got, absl::StatusCode code) {
  return Expect(got.code() == code, got.ToString());
}

size_t SizeOf(const std::string& bytes) {
  testing::StreamingOutputCallResponse response;
  response.ParseFromString(bytes);
  return response.payload().body().size();
}

UnaryAnswer Unary(Channel& channel, const std::string& method, const std::string& request) {
  return channel.CallRaw(method, request, {.timeout = kLong});
}

absl::Status EmptyUnary(Channel& channel) {
  const UnaryAnswer answer = Unary(channel, "/grpc.testing.TestService/EmptyCall", "");
  if (!answer.end.status.ok()) return answer.end.status;
  return Expect(answer.message.empty(), "the answer is not empty");
}

absl::Status LargeUnary(Channel& channel) {
  testing::SimpleRequest request;
  request.set_response_size(kLargeAnswer);
  request.mutable_payload()->set_body(Zeros(kLargeRequest));
  const auto reply = channel.Call<testing::SimpleResponse>("/grpc.testing.TestService/UnaryCall",
                                                           request, {.timeout = kLong});
  if (!reply.ok()) return reply.status();
  return Expect(reply->payload().body() == Zeros(kLargeAnswer), "the answer has another size");
}

absl::Status ClientStreaming(Channel& channel) {
  Stream stream(channel, "StreamingInputCall");
  for (const int size : kRequestSizes) {
    testing::StreamingInputCallRequest request;
    request.mutable_payload()->set_body(Zeros(size));
    stream.call().Write(request.SerializeAsString());
  }
  stream.call().WritesDone();
  const CallEnd end = stream.WaitForEnd();
  if (!end.status.ok()) return end.status;
  testing::StreamingInputCallResponse response;
  response.ParseFromString(stream.WaitForMessage(1).value_or(""));
  return Expect(response.aggregated_payload_size() == 74'922, "another sum of sizes");
}

absl::Status ServerStreaming(Channel& channel) {
  Stream stream(channel, "StreamingOutputCall");
  stream.call().Write(OutputRequest({std::begin(kAnswerSizes), std::end(kAnswerSizes)}, 0));
  stream.call().WritesDone();
  const CallEnd end = stream.WaitForEnd();
  if (!end.status.ok()) return end.status;
  for (size_t i = 0; i < std::size(kAnswerSizes); ++i) {
    const auto message = stream.WaitForMessage(i + 1);
    if (!message || SizeOf(*message) != static_cast<size_t>(kAnswerSizes[i])) {
      return absl::InternalError("an answer is missing or has another size");
    }
  }
  return Expect(stream.messages() == std::size(kAnswerSizes), "more answers");
}

absl::Status PingPong(Channel& channel) {
  Stream stream(channel, "FullDuplexCall");
  for (size_t i = 0; i < std::size(kAnswerSizes); ++i) {
    stream.call().Write(OutputRequest({kAnswerSizes[i]}, kRequestSizes[i]));
    const auto message = stream.WaitForMessage(i + 1);
    if (!message || SizeOf(*message) != static_cast<size_t>(kAnswerSizes[i])) {
      return absl::InternalError(absl::StrCat("answer ", i, " is missing or has another size"));
    }
  }
  stream.call().WritesDone();
  return stream.WaitForEnd().status;
}

absl::Status EmptyStream(Channel& channel) {
  Stream stream(channel, "FullDuplexCall");
  stream.call().WritesDone();
  const CallEnd end = stream.WaitForEnd();
  if (!end.status.ok()) return end.status;
  return Expect(stream.messages() == 0, "there are answers");
}

absl::Status CancelAfterBegin(Channel& channel) {
  Stream stream(channel, "StreamingInputCall");
  stream.call().Cancel();
  return ExpectCode(stream.WaitForEnd().status, absl::StatusCode::kCancelled);
}

absl::Status CancelAfterFirstResponse(Channel& channel) {
  Stream stream(channel, "FullDuplexCall");
  stream.call().Write(OutputRequest({kAnswerSizes[0]}, kRequestSizes[0]));
  if (!stream.WaitForMessage(1)) return stream.WaitForEnd().status;
  stream.call().Cancel();
  return ExpectCode(stream.WaitForEnd().status, absl::StatusCode::kCancelled);
}

absl::Status TimeoutOnSleepingServer(Channel& channel) {
  Stream stream(channel, "FullDuplexCall", {.timeout = absl::Milliseconds(1)});
  stream.call().Write(OutputRequest({}, kRequestSizes[0]));
  return ExpectCode(stream.WaitForEnd().status, absl::StatusCode::kDeadlineExceeded);
}

absl::Status EchoStatus(Channel& channel, absl::StatusCode code, const std::string& message) {
  testing::SimpleRequest unary;
  unary.mutable_response_status()->set_code(static_cast<int>(code));
  unary.mutable_response_status()->set_message(message);
  const UnaryAnswer answer =
      Unary(channel, "/grpc.testing.TestService/UnaryCall", unary.SerializeAsString());
  absl::Status got = ExpectStatus(answer.end.status, code, message);
  if (!got.ok()) return got;
  testing::StreamingOutputCallRequest request;
  *request.mutable_response_status() = unary.response_status();
  Stream stream(channel, "FullDuplexCall");
  stream.call().Write(request.SerializeAsString());
  stream.call().WritesDone();
  return ExpectStatus(stream.WaitForEnd().status, code, message);
}

absl::Status StatusCodeAndMessage(Channel& channel) {
  return EchoStatus(channel, absl::StatusCode::kUnknown, "test status message");
}

absl::Status SpecialStatusMessage(Channel& channel) {
  return EchoStatus(channel, absl::StatusCode::kUnknown,
                    "\t\ntest with whitespace\r\nand Unicode BMP \xE2\x98\xBA and non-BMP "
                    "\xF0\x9F\x98\x88\t\n");
}

absl::Status CustomMetadata(Channel& channel) {
  const std::string initial = "x-grpc-test-echo-initial", last = "x-grpc-test-echo-trailing-bin";
  // Base64 without padding, as grpc-go sends it.
  const CallMetadata metadata = {{initial, "test_initial_metadata_value"}, {last, "qrqr"}};
  Stream stream(channel, "FullDuplexCall", {.timeout = kLong, .metadata = metadata});
  stream.call().Write(OutputRequest({kLargeAnswer}, kLargeRequest));
  stream.call().WritesDone();
  const CallEnd end = stream.WaitForEnd();
  if (!end.status.ok()) return end.status;
  const CallMetadata headers = stream.headers();
  const auto header = headers.find(initial);
  const auto trailer = end.trailers.find(last);
  return Expect(header != headers.end() && header->second == metadata.find(initial)->second &&
                    trailer != end.trailers.end() && trailer->second == "qrqr",
                "the metadata does not come back");
}

absl::Status UnimplementedMethod(Channel& channel) {
  return ExpectCode(Unary(channel, "/grpc.testing.TestService/UnimplementedCall", "").end.status,
                    absl::StatusCode::kUnimplemented);
}

absl::Status UnimplementedService(Channel& channel) {
  return ExpectCode(
      Unary(channel, "/grpc.testing.UnimplementedService/UnimplementedCall", "").end.status,
      absl::StatusCode::kUnimplemented);
}

const std::map<std::string, std::function<absl::Status(Channel&)>>& Cases() {
  static const auto* const cases = new std::map<std::string, std::function<absl::Status(Channel&)>>{
      {"empty_unary", EmptyUnary},
      {"large_unary", LargeUnary},
      {"client_streaming", ClientStreaming},
      {"server_streaming", ServerStreaming},
      {"ping_pong", PingPong},
      {"empty_stream", EmptyStream},
      {"cancel_after_begin", CancelAfterBegin},
      {"cancel_after_first_response", CancelAfterFirstResponse},
      {"timeout_on_sleeping_server", TimeoutOnSleepingServer},
      {"status_code_and_message", StatusCodeAndMessage},
      {"special_status_message", SpecialStatusMessage},
      {"custom_metadata", CustomMetadata},
      {"unimplemented_method", UnimplementedMethod},
      {"unimplemented_service", UnimplementedService}};
  return *cases;
}

int Main(int argc, char** argv) {
  const auto found = argc < 3 ? Cases().end() : Cases().find(argv[2]);
  if (found == Cases().end()) {
    std::fprintf(stderr, "usage: interop_client ADDRESS CASE [CA]\n");
    return 2;
  }
  Target target = {.address = argv[1]};
  if (argc > 3) {
    std::ifstream file(argv[3]);
    const auto tls = ClientTls({.ca = {std::istreambuf_iterator<char>(file), {}}});
    if (!tls.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[3], tls.status().ToString().c_str());
      return 1;
    }
    target.tls = [context = *tls] { return context; };
  }
  EventLoop loop;
  Channel channel(loop, std::move(target));
  const absl::Status status = found->second(channel);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[2], status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) { return gpuscaler::Main(argc, argv); }

// Sends the bytes of an untrusted server to a session of a gRPC client with two open calls. The
// listener of the first call reads at once, that of the second pauses after headers and messages.
//
// The last bytes of an input select its kind: plain bytes, or a list of mostly valid frames.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "fuzz_assert.h"
#include "http2_peer.h"
#include "wire/client_session.h"
#include "wire/message_reader.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

constexpr size_t kLongestMessage = 200;

// Returns the fields of a HEADERS frame: response headers, trailers, or a mixture.
std::string HeaderFields(FuzzedDataProvider& input) {
  constexpr const char* kStatuses[] = {"200", "200", "200", "100", "404", "99999999999"};
  constexpr const char* kTypes[] = {"application/grpc", "application/grpc+proto", "text/html"};
  std::string fields;
  if (input.ConsumeIntegralInRange(0, 3) > 0) {
    fields += Literal(":status", input.PickValueInArray(kStatuses));
    fields += Literal("content-type", input.PickValueInArray(kTypes));
  }
  if (input.ConsumeBool()) {
    constexpr const char* kCodes[] = {"0", "0", "5", "17", "-1", ""};
    fields += Literal("grpc-status", input.PickValueInArray(kCodes));
    fields += Literal("grpc-message", input.ConsumeRandomLengthString(50));
  }
  for (int more = input.ConsumeIntegralInRange(0, 3); more > 0; --more) {
    fields +=
        Literal(input.ConsumeBool() ? "key-bin" : "key", input.ConsumeRandomLengthString(100));
  }
  return fields;
}

// Returns messages that together exceed the flow-control window.
std::string Flood(uint32_t stream) {
  std::string messages, all;
  while (messages.size() < 16'000) messages += Prefixed(std::string(150, 'x'));
  for (int i = 0; i < 20; ++i) all += Encode({FrameType::kData, 0, stream, messages});
  return all;
}

std::string NextServerFrame(FuzzedDataProvider& input) {
  const auto stream = static_cast<uint32_t>(input.ConsumeIntegralInRange(1, 5));
  const uint8_t end = input.ConsumeIntegralInRange(0, 3) == 0 ? kEndStream : 0;
  switch (input.ConsumeIntegralInRange(0, 7)) {
    case 0:
    case 1:
      return Encode({FrameType::kHeaders, static_cast<uint8_t>(kEndHeaders | end), stream,
                     HeaderFields(input)});
    case 2:
    case 3:
      return Encode({FrameType::kData, end, stream, NextMessage(input)});
    case 4:
      return Encode({FrameType::kGoAway, 0, 0,
                     BigEndian(input.ConsumeIntegralInRange(0, 5), 4) + BigEndian(0, 4) + "bye"});
    case 5:
      return input.ConsumeIntegralInRange(0, 7) == 0 ? Flood(stream) : "";
    default:
      return NextFrame(input, stream);
  }
}

// Checks the guarantees of ClientCall::Listener. Must be used on the loop's thread. The exceptions
// are has_ended() and the destructor, after the session has closed.
class Caller : public ClientCall::Listener {
 public:
  explicit Caller(bool pauses) : pauses_(pauses) {
    CallOptions options{.longest_message = kLongestMessage};
    if (pauses) options.metadata.emplace("key", "value");
    call_ = std::make_shared<ClientCall>(Loop(), "server:1", "/test.Test/Test", options, *this);
    call_->Write("first");
  }
  ~Caller() override { FUZZ_ASSERT(has_ended_); }

  void OnHeaders(const CallMetadata&) override {
    FUZZ_ASSERT(!has_ended_ && !std::exchange(has_headers_, true));
    Pause();
  }
  void OnMessage(std::string bytes) override {
    FUZZ_ASSERT(has_headers_ && !has_ended_ && !is_paused_ && bytes.size() <= kLongestMessage);
    // The length of a message selects what the caller does.
    if (bytes.size() > 100) call_->Cancel();
    if (bytes.size() < 50) call_->WriteNewest(std::move(bytes));
    Pause();
  }
  void OnEnd(const CallEnd& end) override {
    FUZZ_ASSERT(!std::exchange(has_ended_, true));
    FUZZ_ASSERT(!has_headers_ || !end.connect_fault.has_value());
    FUZZ_ASSERT(end.trailers.empty() || !end.connect_fault.has_value());
  }

  void Resume() {
    is_paused_ = false;
    call_->ResumeReading();
  }

  const std::shared_ptr<ClientCall>& call() { return call_; }
  bool has_ended() const { return has_ended_; }

 private:
  void Pause() {
    if (!pauses_) return;
    call_->PauseReading();
    is_paused_ = true;
  }

  const bool pauses_;
  std::shared_ptr<ClientCall> call_;
  bool has_headers_ = false;
  bool is_paused_ = false;
  bool has_ended_ = false;
};

// The session of a client and its calls.
class Client {
 public:
  // `is_impatient`: keepalive times of 0, so the session closes if the server is silent.
  explicit Client(bool is_impatient) {
    if (is_impatient) target_.keepalive = target_.keepalive_timeout = absl::ZeroDuration();
    server_.Do([this] {
      session_ = std::make_unique<ClientSession>(Connection(server_.session_end()), Loop(), target_,
                                                 [this] { session_ = nullptr; });
    });
    Open(/*pauses=*/false);
    Open(/*pauses=*/true);
  }
  ~Client() {
    Close();
    for (const auto& caller : callers_) FUZZ_ASSERT(caller->has_ended());
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Open(bool pauses) {
    server_.Do([&] {
      if (session_ == nullptr || !session_->accepts_calls()) return;
      callers_.push_back(std::make_unique<Caller>(pauses));
      session_->Open(callers_.back()->call());
    });
  }
  void ForEach(const std::function<void(Caller&)>& act) {
    server_.Do([&] {
      for (const auto& caller : callers_) act(*caller);
    });
  }
  void Close() {
    server_.Do([this] { session_ = nullptr; });
  }

  Http2Peer& server() { return server_; }

 private:
  Target target_{.address = "server:1"};
  Http2Peer server_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::unique_ptr<ClientSession> session_;
};

// Events beside the frames.
enum class Event {
  kReadsOn,  // the caller, after each piece
  // After the first piece:
  kCancels,
  kEndsWrites,
  kOpensCall,
  kClosesSession,
  kServerCloses,  // the connection, at the end
  kNone,
  kIsImpatient,  // the client
};

void FuzzClientSession(FuzzedDataProvider input) {
  constexpr Event kEvents[] = {Event::kReadsOn,       Event::kReadsOn,      Event::kReadsOn,
                               Event::kCancels,       Event::kEndsWrites,   Event::kOpensCall,
                               Event::kClosesSession, Event::kServerCloses, Event::kNone,
                               Event::kIsImpatient};
  const bool has_settings = input.ConsumeIntegralInRange(0, 7) > 0;
  const bool sends_frames = input.ConsumeBool();
  const int pieces = input.ConsumeIntegralInRange(1, 4);
  const Event event = input.PickValueInArray(kEvents);
  std::string bytes;
  if (has_settings) bytes = Encode({FrameType::kSettings});
  while (sends_frames && input.remaining_bytes() > 0) bytes += NextServerFrame(input);
  bytes += input.ConsumeRemainingBytesAsString();

  Client client(/*is_impatient=*/event == Event::kIsImpatient);
  const size_t piece = bytes.size() / static_cast<size_t>(pieces) + 1;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    client.server().Send(absl::string_view(bytes).substr(at, piece));
    if (event == Event::kReadsOn) client.ForEach([](Caller& each) { each.Resume(); });
    if (at > 0) continue;
    if (event == Event::kCancels) client.ForEach([](Caller& each) { each.call()->Cancel(); });
    if (event == Event::kEndsWrites)
      client.ForEach([](Caller& each) { each.call()->WritesDone(); });
    if (event == Event::kOpensCall) client.Open(/*pauses=*/true);
    if (event == Event::kClosesSession) client.Close();
  }
  if (event == Event::kServerCloses) client.server().CloseConnection();
  client.ForEach([](Caller& each) { each.Resume(); });
  client.Close();

  absl::string_view received = client.server().received();
  // A server cannot make the client send much more than it sends itself.
  FUZZ_ASSERT(received.size() <= 5'000 + 4 * bytes.size());
  FUZZ_ASSERT(absl::ConsumePrefix(&received, kPreface));
  CheckFrames(received);
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::FuzzClientSession(FuzzedDataProvider(data, size));
  return 0;
}

// Sends the bytes of an untrusted client to a session of the gRPC server.
//
// The last bytes of an input select its kind: plain bytes, or a list of mostly valid frames.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/log.h"
#include "fuzz_assert.h"
#include "http2_peer.h"
#include "wire/server_session.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

std::string Request(FuzzedDataProvider& input) {
  constexpr const char* kPaths[] = {"/Echo", "/Stream", "/Hang", "/Nothing"};
  constexpr const char* kTimeouts[] = {"", "", "1n", "1H", "99999999H", "-1S"};
  constexpr const char* kTypes[] = {"application/grpc", "application/grpc+proto", "text/html"};
  std::string fields =
      Literal(":method", "POST") + Literal(":scheme", "http") + Literal(":authority", "a") +
      Literal(":path", input.PickValueInArray(kPaths)) +
      Literal("content-type",
              input.ConsumeIntegralInRange(0, 7) > 0 ? kTypes[0] : input.PickValueInArray(kTypes));
  const std::string timeout = input.ConsumeIntegralInRange(0, 7) > 0
                                  ? input.PickValueInArray(kTimeouts)
                                  : input.ConsumeRandomLengthString(12);
  if (!timeout.empty()) fields += Literal("grpc-timeout", timeout);
  for (int more = input.ConsumeIntegralInRange(0, 5); more > 0; --more) {
    fields += Literal(input.ConsumeBool() ? "grpc-encoding" : "key",
                      input.ConsumeRandomLengthString(100));
  }
  return fields;
}

std::string NextClientFrame(FuzzedDataProvider& input) {
  const auto stream = static_cast<uint32_t>(input.ConsumeIntegralInRange(0, 10) * 2 + 1);
  const uint8_t end = input.ConsumeBool() ? kEndStream : 0;
  switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0:
      return Encode(
          {FrameType::kHeaders, static_cast<uint8_t>(kEndHeaders | end), stream, Request(input)});
    case 1:
      return Encode({FrameType::kData, end, stream, NextMessage(input)});
    default:
      return NextFrame(input, stream);
  }
}

constexpr SessionLimits kLimits = {.streams = 6,
                                   .header_list_bytes = 500,
                                   .metadata_keys = 4,
                                   .longest_message = 200,
                                   .continuations = 2,
                                   .useless_frames = 20,
                                   .streams_per_address = 5,
                                   .unfinished_bytes_per_address = 500,
                                   .unread_bytes_per_address = 100'000,
                                   .resets_at_once = 10,
                                   .resets_per_second = 1,
                                   .settings_at_once = 10,
                                   .settings_per_second = 1,
                                   .loop_at_once = 1e9};  // no priority depends on CPU time

int calls = 0;  // calls with a handler that have not ended

// Checks the guarantees of ServerCall::Handler.
class Checked : public ServerCall::Handler {
 public:
  explicit Checked(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {
    FUZZ_ASSERT(++calls <= static_cast<int>(kLimits.streams_per_address));
  }
  ~Checked() override { FUZZ_ASSERT(has_ended_); }
  void OnMessage(std::string bytes) override {
    FUZZ_ASSERT(!has_ended_ && !is_last_ && bytes.size() <= kLimits.longest_message);
    Take(std::move(bytes));
  }
  void OnLastMessage() override {
    FUZZ_ASSERT(!has_ended_ && !std::exchange(is_last_, true));
    End();
  }
  void OnWritten() override { FUZZ_ASSERT(!has_ended_); }
  void OnEnd() override {
    FUZZ_ASSERT(!std::exchange(has_ended_, true));
    --calls;
  }

 protected:
  virtual void Take(std::string bytes) = 0;
  virtual void End() = 0;
  ServerCall& call() { return *call_; }

 private:
  const std::shared_ptr<ServerCall> call_;
  bool is_last_ = false;
  bool has_ended_ = false;
};

class Echo : public Checked {
  using Checked::Checked;
  void Take(std::string bytes) override { call().Write(std::move(bytes)); }
  void End() override { call().Finish(absl::OkStatus()); }
};

// Each message is answered by more than a window, and the longest message ends the call.
class Stream : public Checked {
  using Checked::Checked;
  void Take(std::string bytes) override {
    if (bytes.empty()) call().AddTrailer("key", "value");
    call().WriteNewest(std::string(40'000, 'x'));
    call().Write(bytes);
    call().WriteNewest(std::move(bytes));
    if (bytes.size() > 100) End();
  }
  void End() override { call().Finish(absl::NotFoundError("100 %\n")); }
};

class Hang : public Checked {
  using Checked::Checked;
  void Take(std::string) override {}
  void End() override {}
};

const Methods& AllMethods() {
  static const auto& methods =
      *new Methods{{"/Echo", [](auto& call) { return std::make_unique<Echo>(call); }},
                   {"/Stream", [](auto& call) { return std::make_unique<Stream>(call); }},
                   {"/Hang", [](auto& call) { return std::make_unique<Hang>(call); }}};
  return methods;
}

// The session of a client.
class Connection {
 public:
  Connection() {
    RunOnLoop([this] {
      session_ = std::make_unique<ServerSession>(client_.session_end(), "10.0.0.1", server_,
                                                 address_, [this](ServerSession* session) {
                                                   FUZZ_ASSERT(session == session_.get());
                                                   session_ = nullptr;
                                                 });
    });
  }
  ~Connection() {
    RunOnLoop([this] {
      if (session_ != nullptr) session_->CloseNow();
      FUZZ_ASSERT(session_ == nullptr && calls == 0);
      FUZZ_ASSERT(server_.unfinished_bytes.taken() == 0 && address_.unfinished_bytes.taken() == 0);
      FUZZ_ASSERT(server_.unread_bytes.taken() == 0 && address_.unread_bytes.taken() == 0);
      FUZZ_ASSERT(server_.streams == 0 && address_.streams == 0);
    });
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(absl::string_view bytes) {
    client_.Send(bytes);
    RunOnLoop([this] { FUZZ_ASSERT(address_.streams <= kLimits.streams); });
  }

  void Do(const std::function<void(ServerSession&)>& act) {
    client_.Do([&] {
      if (session_ != nullptr) act(*session_);
    });
  }

  void Wait(absl::Duration duration) {
    clock_.Advance(duration);
    Do(&ServerSession::Tick);
  }

  Http2Peer& client() { return client_; }

 private:
  FakeClock clock_;
  LimitLog log_{clock_};
  ServerContext server_{AllMethods(), kLimits, clock_, log_, Loop()};
  AddressContext address_{server_};
  Http2Peer client_;
  std::unique_ptr<ServerSession> session_;
};

void CheckReceived(absl::string_view sent, absl::string_view received) {
  if (!absl::StartsWith(received, "HTTP/1.1 400 ")) return CheckFrames(received);
  FUZZ_ASSERT(sent.substr(0, kPreface.size()) != kPreface);
}

void FuzzServerSession(FuzzedDataProvider input) {
  const bool has_preface = input.ConsumeIntegralInRange(0, 7) > 0;
  const bool sends_frames = input.ConsumeBool();
  const int pieces = input.ConsumeIntegralInRange(1, 4);
  const int act = input.ConsumeIntegralInRange(0, 7);
  std::string bytes;
  if (has_preface) bytes = absl::StrCat(kPreface, Encode({FrameType::kSettings}));
  while (sends_frames && input.remaining_bytes() > 0) bytes += NextClientFrame(input);
  bytes += input.ConsumeRemainingBytesAsString();

  Connection connection;
  const size_t piece = bytes.size() / static_cast<size_t>(pieces) + 1;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    connection.Send(absl::string_view(bytes).substr(at, piece));
    if (at > 0) continue;
    if (act == 1) connection.Do(&ServerSession::BeginGracefulShutdown);
    if (act == 2) connection.Do(&ServerSession::CloseNow);
    if (act == 3) connection.Wait(absl::Hours(1));
    if (act == 4) connection.Wait(kLimits.keepalive + absl::Seconds(1));
  }
  if (act == 5) connection.client().CloseConnection();
  CheckReceived(bytes, connection.client().received());
}

}  // namespace
}  // namespace gpuscaler

// The log of a new server writes a line for each first violation of a limit.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  gpuscaler::SetLogLevel(gpuscaler::LogLevel::kError);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::FuzzServerSession(FuzzedDataProvider(data, size));
  return 0;
}

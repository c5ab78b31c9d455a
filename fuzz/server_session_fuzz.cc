// Bytes of a client, which may be anyone, into a session of the gRPC server.
//
// An input's first bytes choose what it is: plain bytes, or a list of frames that are mostly sound.
#include <event2/buffer.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "promise.h"
#include "wire/server_session.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType { kData, kHeaders, kPriority, kReset, kSettings, kPush, kPing, kGoAway, kWindow };
constexpr int kMostTypes = 11;
constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;

std::string BigEndian(uint32_t number, size_t bytes) {
  std::string text;
  while (bytes-- > 0) text.push_back(static_cast<char>(number >> (8 * bytes) & 0xff));
  return text;
}

std::string Frame(int type, int flags, uint32_t stream, const std::string& payload) {
  return absl::StrCat(BigEndian(static_cast<uint32_t>(payload.size()), 3),
                      std::string{static_cast<char>(type), static_cast<char>(flags)},
                      BigEndian(stream, 4), payload);
}

// A literal of HPACK without a place in the table; both are shorter than 127.
std::string Field(absl::string_view name, absl::string_view value) {
  return absl::StrCat(std::string{'\0', static_cast<char>(name.size())}, name,
                      std::string(1, static_cast<char>(value.size())), value);
}

std::string Request(FuzzedDataProvider& input) {
  constexpr const char* kPaths[] = {"/Echo", "/Stream", "/Hang", "/Nothing"};
  constexpr const char* kTimeouts[] = {"", "", "1n", "1H", "99999999H", "-1S"};
  constexpr const char* kTypes[] = {"application/grpc", "application/grpc+proto", "text/html"};
  std::string fields =
      Field(":method", "POST") + Field(":scheme", "http") + Field(":authority", "a") +
      Field(":path", input.PickValueInArray(kPaths)) +
      Field("content-type",
            input.ConsumeIntegralInRange(0, 7) > 0 ? kTypes[0] : input.PickValueInArray(kTypes));
  const absl::string_view timeout = input.PickValueInArray(kTimeouts);
  if (!timeout.empty()) fields += Field("grpc-timeout", timeout);
  for (int more = input.ConsumeIntegralInRange(0, 5); more > 0; --more) {
    fields +=
        Field(input.ConsumeBool() ? "grpc-encoding" : "key", input.ConsumeRandomLengthString(100));
  }
  return fields;
}

std::string Message(FuzzedDataProvider& input) {
  const std::string bytes = input.ConsumeRandomLengthString(250);
  const auto missing = static_cast<uint32_t>(input.ConsumeIntegralInRange(0, 3));
  return absl::StrCat(std::string(1, static_cast<char>(input.ConsumeIntegralInRange(0, 15) / 14)),
                      BigEndian(static_cast<uint32_t>(bytes.size()) + missing, 4), bytes);
}

std::string NextFrame(FuzzedDataProvider& input) {
  const auto stream = static_cast<uint32_t>(input.ConsumeIntegralInRange(0, 10) * 2 + 1);
  const uint8_t end = input.ConsumeBool() ? kEndStream : 0;
  switch (input.ConsumeIntegralInRange(0, 11)) {
    case 0:
    case 1:
      return Frame(kHeaders, kEndHeaders | end, stream, Request(input));
    case 2:
    case 3:
      return Frame(kData, end, stream, Message(input));
    case 4:
      return Frame(kReset, 0, stream, BigEndian(input.ConsumeIntegral<uint8_t>(), 4));
    case 5:
      return Frame(kSettings, 0, 0,
                   BigEndian(input.ConsumeIntegral<uint8_t>(), 2) +
                       BigEndian(input.ConsumeIntegral<uint32_t>(), 4));
    case 6:
      return Frame(kSettings, kAck, 0, "");
    case 7:
      return Frame(kWindow, 0, input.ConsumeBool() ? 0 : stream,
                   BigEndian(input.ConsumeIntegral<uint32_t>(), 4));
    case 8:
      return Frame(kPing, input.ConsumeBool() ? kAck : 0, 0, "12345678");
    case 9:
      return Frame(kHeaders, input.ConsumeIntegral<uint8_t>(), stream,
                   input.ConsumeRandomLengthString(100));
    case 10:
      return input.ConsumeRandomLengthString(40);
    default:
      return Frame(input.ConsumeIntegralInRange(0, kMostTypes), input.ConsumeIntegral<uint8_t>(),
                   input.ConsumeBool() ? 0 : stream, input.ConsumeRandomLengthString(60));
  }
}

constexpr SessionLimits kLimits = {.streams = 6,
                                   .header_list_bytes = 500,
                                   .metadata_keys = 4,
                                   .longest_message = 200,
                                   .continuations = 2,
                                   .pings_and_settings = 20,
                                   .streams_per_address = 5,
                                   .unfinished_bytes_per_address = 500,
                                   .resets_at_once = 10,
                                   .resets_per_second = 1,
                                   .settings_at_once = 10,
                                   .settings_per_second = 1};

int calls = 0;  // that have a handler and have not ended

// Promises what ServerCall::Handler does.
class Checked : public ServerCall::Handler {
 public:
  explicit Checked(std::shared_ptr<ServerCall> call) : call_(std::move(call)) { ++calls; }
  ~Checked() override { PROMISE(has_ended_); }
  void OnMessage(std::string bytes) override {
    PROMISE(!has_ended_ && !is_last_ && bytes.size() <= kLimits.longest_message);
    Take(std::move(bytes));
  }
  void OnLastMessage() override {
    PROMISE(!has_ended_ && !std::exchange(is_last_, true));
    End();
  }
  void OnWritten() override { PROMISE(!has_ended_); }
  void OnEnd() override {
    PROMISE(!std::exchange(has_ended_, true));
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

// Each message makes more than a window holds, and the longest ends the call.
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

EventLoop& Loop() {
  static EventLoop& loop = *new EventLoop;
  return loop;
}

template <typename Task>
void RunOnLoop(const Task& task) {
  std::promise<void> done;
  Loop().Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

// A client's end of a connection, and the session at the other.
class Connection {
 public:
  Connection() {
    RunOnLoop([this] {
      bufferevent* ends[2];
      const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
      PROMISE(bufferevent_pair_new(Loop().base(), options, ends) == 0);
      client_ = ends[0];
      bufferevent_enable(client_, EV_READ | EV_WRITE);
      session_ = std::make_unique<ServerSession>(ends[1], "10.0.0.1", server_, address_,
                                                 [this](ServerSession* session) {
                                                   PROMISE(session == session_.get());
                                                   session_ = nullptr;
                                                 });
    });
  }
  ~Connection() {
    RunOnLoop([this] {
      if (session_ != nullptr) session_->CloseNow();
      PROMISE(session_ == nullptr && calls == 0);
      PROMISE(server_.unfinished.taken() == 0 && address_.unfinished.taken() == 0);
      PROMISE(server_.streams == 0 && address_.streams == 0);
      bufferevent_free(client_);
    });
    RunOnLoop([] {});  // libevent frees both ends
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(absl::string_view bytes) {
    RunOnLoop([&] { bufferevent_write(client_, bytes.data(), bytes.size()); });
    Settle();
  }

  void Do(const std::function<void(ServerSession&)>& act) {
    RunOnLoop([&] {
      if (session_ != nullptr) act(*session_);
    });
    Settle();
  }

  void Wait(absl::Duration duration) {
    clock_.Advance(duration);
    Do(&ServerSession::LookAfter);
  }

  // Closes the client's end, as far as the session can see.
  void Leave() {
    RunOnLoop([this] { bufferevent_flush(client_, EV_WRITE, BEV_FINISHED); });
    Settle();
  }

  const std::string& received() const { return received_; }

 private:
  // Until nothing more comes: a message takes a few rounds of the loop to its handler and back.
  void Settle() {
    constexpr int kQuietRounds = 4;
    for (int quiet = 0; quiet < kQuietRounds; ++quiet) {
      RunOnLoop([&] {
        evbuffer* const input = bufferevent_get_input(client_);
        const size_t size = evbuffer_get_length(input);
        if (size == 0) return;
        received_.append(reinterpret_cast<const char*>(evbuffer_pullup(input, -1)), size);
        evbuffer_drain(input, size);
        quiet = 0;
        PROMISE(address_.streams <= kLimits.streams);
      });
    }
  }

  FakeClock clock_;
  LimitLog log_{clock_};
  ServerShare server_{AllMethods(), kLimits, clock_, log_, Loop()};
  AddressShare address_{server_};
  bufferevent* client_ = nullptr;
  std::unique_ptr<ServerSession> session_;
  std::string received_;
};

// Whole frames, of which the first is SETTINGS; on a stream HEADERS come first, and nothing comes
// behind its end. The last one may be cut.
void CheckFrames(absl::string_view bytes) {
  constexpr size_t kHeader = 9;
  std::map<uint32_t, bool> streams;  // true: it has ended
  for (bool is_first = true; bytes.size() >= kHeader; is_first = false) {
    const auto byte = [&](size_t i) {
      return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i]));
    };
    const size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
    const uint32_t type = byte(3), flags = byte(4);
    const uint32_t id = byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
    PROMISE(type <= 9 && (!is_first || type == kSettings));
    if (type == kSettings) PROMISE(id == 0 && size % 6 == 0);
    if (type == kHeaders || type == kData) {
      PROMISE(id % 2 == 1 && (type == kHeaders || streams.contains(id)));
      PROMISE(!streams[id]);
      streams[id] = (flags & kEndStream) != 0;
    }
    bytes.remove_prefix(std::min(bytes.size(), kHeader + size));
  }
}

void CheckReceived(absl::string_view sent, absl::string_view received) {
  if (!absl::StartsWith(received, "HTTP/1.1 400 ")) return CheckFrames(received);
  PROMISE(sent.substr(0, kPreface.size()) != kPreface);
}

void CheckClient(FuzzedDataProvider input) {
  const bool has_preface = input.ConsumeIntegralInRange(0, 7) > 0;
  const bool is_of_frames = input.ConsumeBool();
  const int pieces = input.ConsumeIntegralInRange(1, 4);
  const int act = input.ConsumeIntegralInRange(0, 7);
  std::string bytes;
  if (has_preface) bytes = absl::StrCat(kPreface, Frame(kSettings, 0, 0, ""));
  while (is_of_frames && input.remaining_bytes() > 0) bytes += NextFrame(input);
  bytes += input.ConsumeRemainingBytesAsString();

  Connection connection;
  const size_t piece = bytes.size() / static_cast<size_t>(pieces) + 1;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    connection.Send(absl::string_view(bytes).substr(at, piece));
    if (at > 0) continue;
    if (act == 1) connection.Do(&ServerSession::BeginToClose);
    if (act == 2) connection.Do(&ServerSession::CloseNow);
    if (act == 3) {
      connection.Wait(absl::Hours(1));
    }
    if (act == 4) {
      connection.Wait(kLimits.keepalive + absl::Seconds(1));
    }
  }
  if (act == 5) connection.Leave();
  CheckReceived(bytes, connection.received());
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckClient(FuzzedDataProvider(data, size));
  return 0;
}

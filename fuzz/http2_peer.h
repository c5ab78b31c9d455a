// The other end of a session's connection, for fuzzers: it sends mostly valid frames.
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "fuzz_assert.h"
#include "wire/event_loop.h"
#include "wire/test_frames.h"

namespace gpuscaler {

// All connections use its thread.
inline EventLoop& Loop() {
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

// Not thread-safe. Must not be used on the loop's thread.
class Http2Peer {
 public:
  Http2Peer() {
    RunOnLoop([this] {
      bufferevent* ends[2];
      const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
      FUZZ_ASSERT(bufferevent_pair_new(Loop().base(), options, ends) == 0);
      end_ = ends[0];
      session_end_ = ends[1];
      bufferevent_enable(end_, EV_READ | EV_WRITE);
    });
  }
  // The session must have ended.
  ~Http2Peer() {
    RunOnLoop([this] { bufferevent_free(end_); });
    RunOnLoop([] {});  // libevent frees both ends
  }
  Http2Peer(const Http2Peer&) = delete;
  Http2Peer& operator=(const Http2Peer&) = delete;

  // Returns the session's end of the connection, which the session owns.
  bufferevent* session_end() { return session_end_; }

  void Send(absl::string_view bytes) {
    Do([&] { bufferevent_write(end_, bytes.data(), bytes.size()); });
  }
  // Closes this end of the connection, from the session's view.
  void CloseConnection() {
    Do([this] { bufferevent_flush(end_, EV_WRITE, BEV_FINISHED); });
  }
  // Runs `act` on the loop's thread, then waits for everything that follows from it.
  template <typename Act>
  void Do(const Act& act) {
    RunOnLoop(act);
    Settle();
  }

  const std::string& received() const { return received_; }

 private:
  // Waits until no more bytes arrive: a message takes a few rounds of the loop to its handler and
  // back.
  void Settle() {
    constexpr int kQuietRounds = 4;
    for (int quiet = 0; quiet < kQuietRounds; ++quiet) {
      RunOnLoop([&] {
        evbuffer* const input = bufferevent_get_input(end_);
        const size_t size = evbuffer_get_length(input);
        if (size == 0) return;
        received_.append(reinterpret_cast<const char*>(evbuffer_pullup(input, -1)), size);
        evbuffer_drain(input, size);
        quiet = 0;
      });
    }
  }

  bufferevent* end_ = nullptr;
  bufferevent* session_end_ = nullptr;
  std::string received_;
};

// Returns a gRPC message that may be compressed or incomplete.
inline std::string NextMessage(FuzzedDataProvider& input) {
  const std::string bytes = input.ConsumeRandomLengthString(250);
  const auto missing = static_cast<uint32_t>(input.ConsumeIntegralInRange(0, 3));
  return absl::StrCat(std::string(1, static_cast<char>(input.ConsumeIntegralInRange(0, 15) / 14)),
                      BigEndian(static_cast<uint32_t>(bytes.size()) + missing, 4), bytes);
}

// Returns a frame of any type, for `stream` or its connection, or bytes that are no frame.
inline std::string NextFrame(FuzzedDataProvider& input, uint32_t stream) {
  constexpr int kMaxTypes = 11;
  switch (input.ConsumeIntegralInRange(0, 7)) {
    case 0:
      return Encode({FrameType::kReset, 0, stream, BigEndian(input.ConsumeIntegral<uint8_t>(), 4)});
    case 1:
      return Encode({FrameType::kSettings, 0, 0,
                     BigEndian(input.ConsumeIntegral<uint8_t>(), 2) +
                         BigEndian(input.ConsumeIntegral<uint32_t>(), 4)});
    case 2:
      return Encode({FrameType::kSettings, kAck, 0, ""});
    case 3:
      return Encode({FrameType::kWindowUpdate, 0, input.ConsumeBool() ? 0 : stream,
                     BigEndian(input.ConsumeIntegral<uint32_t>(), 4)});
    case 4:
      return Encode({FrameType::kPing, input.ConsumeBool() ? kAck : uint8_t{0}, 0, "12345678"});
    case 5:
      return Encode({FrameType::kHeaders, input.ConsumeIntegral<uint8_t>(), stream,
                     input.ConsumeRandomLengthString(100)});
    case 6:
      return input.ConsumeRandomLengthString(40);
    default:
      return Encode({static_cast<FrameType>(input.ConsumeIntegralInRange(0, kMaxTypes)),
                     input.ConsumeIntegral<uint8_t>(), input.ConsumeBool() ? 0 : stream,
                     input.ConsumeRandomLengthString(60)});
  }
}

// Checks that `bytes` are whole frames, except possibly the last. The first is SETTINGS; a stream
// starts with HEADERS and has no frames after its end.
inline void CheckFrames(absl::string_view bytes) {
  constexpr size_t kHeader = 9;
  std::map<uint32_t, bool> streams;  // true: it has ended
  for (bool is_first = true; bytes.size() >= kHeader; is_first = false) {
    const auto byte = [&](size_t i) {
      return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i]));
    };
    const size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
    const auto type = static_cast<FrameType>(byte(3));
    const uint32_t flags = byte(4);
    const uint32_t id = byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
    FUZZ_ASSERT(type <= FrameType::kContinuation && (!is_first || type == FrameType::kSettings));
    if (type == FrameType::kSettings) FUZZ_ASSERT(id == 0 && size % 6 == 0);
    if (type == FrameType::kHeaders || type == FrameType::kData) {
      FUZZ_ASSERT(id % 2 == 1 && (type == FrameType::kHeaders || streams.contains(id)));
      FUZZ_ASSERT(!streams[id]);
      streams[id] = (flags & kEndStream) != 0;
    }
    bytes.remove_prefix(std::min(bytes.size(), kHeader + size));
  }
}

}  // namespace gpuscaler

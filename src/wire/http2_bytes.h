// HTTP/2's bytes between nghttp2 and a connection, in sessions of both sides.
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wire/frame_allowance.h"

namespace gpuscaler {

struct FreeHttp2 {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};

// The output buffer's bytes at which SendBytes() stops until the socket has taken some.
constexpr size_t kOutputBytes = 16 << 10;

// Passes the received bytes to nghttp2, 1 KiB at a time while goes_on() returns true: a few bytes
// may cause an answer of hundreds. Returns 0, or nghttp2's error: NGHTTP2_ERR_FLOODED also if the
// allowance is spent.
template <typename Condition>
int ReceiveBytes(nghttp2_session* http2, bufferevent* connection, FrameAllowance& allowance,
                 const Condition& goes_on) {
  constexpr size_t kAtOnce = 1 << 10;
  evbuffer* const input = bufferevent_get_input(connection);
  while (const size_t size = std::min(evbuffer_get_contiguous_space(input), kAtOnce)) {
    if (!goes_on()) return 0;
    const uint8_t* const bytes = evbuffer_pullup(input, static_cast<ssize_t>(size));
    allowance.Read(bytes, size);
    const ssize_t taken = nghttp2_session_mem_recv(http2, bytes, size);
    evbuffer_drain(input, size);
    if (taken < 0) return static_cast<int>(taken);
    if (allowance.is_spent()) return NGHTTP2_ERR_FLOODED;
  }
  return 0;
}

// Moves frames from nghttp2 to the output buffer, kOutputBytes and one frame at most. Further
// messages stay in their calls, where newer ones may replace them. Returns 0, or nghttp2's error.
inline int SendBytes(nghttp2_session* http2, bufferevent* connection) {
  evbuffer* const output = bufferevent_get_output(connection);
  while (evbuffer_get_length(output) < kOutputBytes) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(http2, &bytes);
    if (size <= 0) return static_cast<int>(size);
    bufferevent_write(connection, bytes, static_cast<size_t>(size));
  }
  return 0;
}

// DATA frames come from ReadOutgoing() of the stream that the session finds. The session must be
// nghttp2's user data.
template <typename Session>
nghttp2_data_provider OutgoingData() {
  return {.source = {},
          .read_callback = [](nghttp2_session*, int32_t id, uint8_t* buffer, size_t size,
                              uint32_t* flags, nghttp2_data_source*, void* session) -> ssize_t {
            auto* const stream = static_cast<Session*>(session)->Find(id);
            if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
            return stream->ReadOutgoing(buffer, size, flags);
          }};
}

}  // namespace gpuscaler

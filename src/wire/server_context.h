// Limits and budgets that the connections of a server share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "wire/event_loop.h"
#include "wire/limits.h"
#include "wire/message_budget.h"
#include "wire/server_call.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Limits for a connection, for all connections of a client address, and for all clients. A call
// beyond `longest_message`, `header_list_bytes`, `metadata_keys`, or a limit of streams or bytes of
// an address or in all, ends with RESOURCE_EXHAUSTED. But if another address has more streams than
// its own, `streams_in_all` closes a connection of that one instead. An address beyond `loop_*` is
// served after all others. A connection beyond any other limit, or beyond 4 x `header_list_bytes`
// in one call, is closed.
struct SessionLimits {
  uint32_t streams = 24'000;              // announced; grpc-go queues calls above it
  uint32_t header_list_bytes = 16 << 10;  // announced
  size_t metadata_keys = 256;
  size_t longest_message = 2 << 20;
  int continuations = 8;
  // Frames that serve no call, and messages of TLS, since we last sent HEADERS or DATA. Each
  // HEADERS or DATA that we send, and each call, allows 4 more.
  int useless_frames = 1'000;
  absl::Duration handshake = absl::Seconds(20);  // until the whole preface, TLS included, has come
  absl::Duration keepalive = absl::Minutes(1);   // an idle client gets a PING after it
  absl::Duration keepalive_timeout = absl::Seconds(20);  // until the answer
  // All connections of an address together.
  size_t streams_per_address = 24'000;
  // Streams beyond `streams_per_address` and `streams_in_all`: refused calls, until their status is
  // sent.
  size_t refused_streams = 1'000;
  size_t unfinished_bytes_per_address = size_t{8} << 20;
  size_t unread_bytes_per_address = size_t{32} << 20;
  // RST_STREAM frames. More than the streams: their deadlines may pass together.
  uint64_t resets_at_once = 30'000, resets_per_second = 2'000;
  // SETTINGS and GOAWAY frames. nghttp2 visits all streams of the connection for each, so a frame
  // takes a token for every 100 streams.
  uint64_t settings_at_once = 3'000, settings_per_second = 100;
  // Seconds of the event loop's CPU time for an address: its frames, connections and handshakes.
  double loop_at_once = 0.05, loop_per_second = 0.1;
  // All connections together.
  size_t streams_in_all = 72'000;
  size_t unfinished_bytes_in_all = size_t{32} << 20;
  size_t unread_bytes_in_all = size_t{128} << 20;
};

class ServerSession;

// The part that all sessions of a server share. Belongs to the loop's thread.
struct ServerContext {
  // All but `limits` outlive it.
  ServerContext(const Methods& methods, const SessionLimits& limits, const Clock& clock,
                LimitLog& log, EventLoop& loop)
      : methods(methods),
        limits(limits),
        clock(clock),
        log(log),
        loop(loop),
        unfinished_bytes(limits.unfinished_bytes_in_all),
        unread_bytes(limits.unread_bytes_in_all) {}

  const Methods& methods;
  const SessionLimits limits;
  const Clock& clock;
  LimitLog& log;
  EventLoop& loop;
  MessageBudget unfinished_bytes;
  MessageBudget unread_bytes;
  size_t streams = 0;
  // Makes room for a stream of this session: closes another connection of its address, if the
  // address is beyond its limit, else one of the address with more streams than any other. Returns
  // false if there is no such connection but the session itself.
  std::function<bool(const ServerSession&)> make_room_for_stream = [](auto&) { return false; };
};

// The part that all sessions of an address share. Belongs to the loop's thread.
struct AddressContext {
  explicit AddressContext(ServerContext& server)
      : resets(static_cast<double>(server.limits.resets_at_once),
               static_cast<double>(server.limits.resets_per_second)),
        settings(static_cast<double>(server.limits.settings_at_once),
                 static_cast<double>(server.limits.settings_per_second)),
        loop_seconds(server.limits.loop_at_once, server.limits.loop_per_second),
        unfinished_bytes(server.limits.unfinished_bytes_per_address, &server.unfinished_bytes),
        unread_bytes(server.limits.unread_bytes_per_address, &server.unread_bytes) {}

  bool IsForgettable(absl::Time now) {
    return connections == 0 && resets.IsFull(now) && settings.IsFull(now) &&
           loop_seconds.IsFull(now);
  }

  TokenBucket resets;
  TokenBucket settings;
  TokenBucket loop_seconds;        // CPU time of the event loop
  MessageBudget unfinished_bytes;  // requests that are not complete: headers and messages
  MessageBudget unread_bytes;      // messages that wait for clients to read them
  size_t streams = 0;
  size_t connections = 0;
  size_t handshakes = 0;  // connections that have not sent the whole preface
};

}  // namespace gpuscaler

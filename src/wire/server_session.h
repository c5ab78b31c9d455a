// One client's connection: HTTP/2 by nghttp2, and above it gRPC's calls.
#pragma once

#include <event2/bufferevent.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "wire/event_loop.h"
#include "wire/limits.h"
#include "wire/message_reader.h"
#include "wire/server_call.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Returns the handler of a call; must not block. Called on the loop's thread.
using StartCall =
    std::function<std::shared_ptr<ServerCall::Handler>(const std::shared_ptr<ServerCall>&)>;

// Methods by their path.
using Methods = std::map<std::string, StartCall, std::less<>>;

// A client that goes beyond is disconnected, but for `longest_message`, headers, metadata and
// streams of an address, which end the call with RESOURCE_EXHAUSTED.
struct SessionLimits {
  uint32_t streams = 24'000;              // announced; grpc-go queues calls above it
  uint32_t header_list_bytes = 16 << 10;  // announced
  size_t metadata_keys = 256;
  size_t longest_message = 2 << 20;
  int continuations = 8;
  int pings_and_settings = 1'000;  // since we last sent a frame that the client asked for
  absl::Duration handshake = absl::Seconds(20);  // until the whole preface, TLS included, has come
  absl::Duration keepalive = absl::Minutes(1);   // a silent client is asked after it
  absl::Duration keepalive_timeout = absl::Seconds(20);  // and has gone if it stays silent
  // All connections of an address together.
  size_t streams_per_address = 24'000;
  size_t unfinished_bytes_per_address = size_t{8} << 20;
  // More than its streams: their deadlines may pass together.
  uint64_t resets_at_once = 30'000, resets_per_second = 2'000;
  // Each visits all streams of its connection, and counts once for every 100 of them.
  uint64_t settings_at_once = 3'000, settings_per_second = 100;
  // All connections together.
  size_t streams_in_all = 60'000;
  size_t unfinished_bytes_in_all = size_t{32} << 20;
};

// The part that all sessions of a server share. Belongs to the loop's thread.
struct ServerShare {
  // All but `limits` outlive it.
  ServerShare(const Methods& methods, const SessionLimits& limits, const Clock& clock,
              LimitLog& log, EventLoop& loop)
      : methods(methods),
        limits(limits),
        clock(clock),
        log(log),
        loop(loop),
        unfinished(limits.unfinished_bytes_in_all) {}

  const Methods& methods;
  const SessionLimits limits;
  const Clock& clock;
  LimitLog& log;
  EventLoop& loop;
  MessageBudget unfinished;
  size_t streams = 0;
};

// The part that all sessions of an address share. Belongs to the loop's thread.
struct AddressShare {
  explicit AddressShare(ServerShare& server)
      : resets(static_cast<double>(server.limits.resets_at_once),
               static_cast<double>(server.limits.resets_per_second)),
        settings(static_cast<double>(server.limits.settings_at_once),
                 static_cast<double>(server.limits.settings_per_second)),
        unfinished(server.limits.unfinished_bytes_per_address, &server.unfinished) {}

  bool IsForgettable(absl::Time now) {
    return connections == 0 && resets.IsFull(now) && settings.IsFull(now);
  }

  TokenBucket resets;
  TokenBucket settings;
  MessageBudget unfinished;
  size_t streams = 0;
  size_t connections = 0;
  size_t handshakes = 0;  // connections that have not sent the whole preface
};

// Belongs to the loop's thread.
class ServerSession {
 public:
  // Owns `connection`. `server` and `address` outlive the session. Calls `closed` once, last of
  // all; it may delete the session.
  ServerSession(bufferevent* connection, std::string peer, ServerShare& server,
                AddressShare& address, std::function<void(ServerSession*)> closed);
  ~ServerSession();
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  // Announces that the connection ends, in two steps, so that no call in flight is lost: no new
  // calls are accepted a round trip later. It is closed after its last call.
  void BeginToClose();

  // Ends all calls and closes at once.
  void CloseNow();

  // Must be called every second or so: asks silent clients whether they are there, and closes the
  // connections of those that are not.
  void LookAfter();

  // Returns the error of OpenSSL that ended the handshake. Must be called in `closed`. 0: none did.
  unsigned long tls_error() const { return tls_error_; }

 private:
  friend class ServerCall;
  friend struct SessionCallbacks;
  struct Stream;
  struct Free {
    void operator()(bufferevent* connection) const { bufferevent_free(connection); }
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
    void operator()(event* timer) const { event_free(timer); }
  };

  void OnReadable();
  void OnWritable();
  void OnConnectionEvent(short what);
  // False: the connection is closed or about to be.
  bool ReadPreface();
  void BeginHttp2();
  void Send();
  void CloseIfDone();
  // Sends the second GOAWAY.
  void AcceptNoMore();
  // A client that does not read its answers is not read either, for they would pile up.
  void Throttle();
  void CloseBeyond(Limit limit);

  // True if the client has shown one: the handshake fails if it is not of a trusted authority.
  bool HasCertificate() const;
  Stream* Find(int32_t id);
  void StartStream(int32_t id);
  void AddHeader(Stream& stream, absl::string_view name, absl::string_view value);
  void StartCallOf(Stream& stream);
  // Returns the error of a call that cannot have a handler.
  absl::Status CheckStart(Stream& stream);
  bool Keep(const ServerCall& call, size_t bytes);
  void Release(const ServerCall& call, size_t bytes);
  void AddData(Stream& stream, absl::string_view bytes);
  void EndStream(int32_t id);
  void FinishNow(const ServerCall& call, const absl::Status& status);
  // Sends a status without a handler.
  void Refuse(Stream& stream, const absl::Status& status);
  void Flush(ServerCall& call);
  ssize_t ReadOutgoing(Stream& stream, uint8_t* buffer, size_t size, uint32_t* flags);
  void SubmitHeaders(Stream& stream);
  int CountControlFrame();
  int CountSettings();
  int CountReset();
  void OnSent(const nghttp2_frame& frame);

  const std::unique_ptr<bufferevent, Free> connection_;
  const std::string peer_;
  ServerShare& server_;
  AddressShare& address_;
  const SessionLimits& limits_;
  const std::function<void(ServerSession*)> closed_;
  std::unique_ptr<nghttp2_session, Free> session_;  // null until the whole preface has come
  std::unique_ptr<event, Free> close_timer_;
  std::map<int32_t, std::unique_ptr<Stream>> streams_;
  int control_frames_ = 0;
  absl::Time heard_at_;
  bool accepts_no_more_ = false;
  bool is_asked_ = false;    // whether it is there, since it was last heard
  bool is_closing_ = false;  // after what is to be sent
  bool is_throttled_ = false;
  unsigned long tls_error_ = 0;
  bool is_in_callback_ = false;
};

}  // namespace gpuscaler

// One client's connection: its bytes, HTTP/2 by nghttp2, and when it ends.
#pragma once

#include <event2/bufferevent.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "wire/frame_allowance.h"
#include "wire/http2_bytes.h"
#include "wire/limits.h"
#include "wire/server_context.h"
#include "wire/server_stream.h"

namespace gpuscaler {

// Belongs to the loop's thread.
class ServerSession {
 public:
  // Owns `connection`. `server` and `address` outlive the session. Calls `closed` once, last of
  // all; it may delete the session.
  ServerSession(bufferevent* connection, std::string peer, ServerContext& server,
                AddressContext& address, std::function<void(ServerSession*)> closed);
  ~ServerSession();
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  // Begins a graceful shutdown (RFC 9113, section 6.8): sends GOAWAY with the largest stream ID and
  // a PING, and the final GOAWAY after the answer or 1 s. The connection closes after its last
  // call.
  void BeginGracefulShutdown();

  // Ends all calls and closes at once.
  void CloseNow();

  // Must be called once a second. Sends a keepalive PING on an idle connection, and closes one that
  // did not answer in time or has not sent the preface.
  void Tick();

  // Counts a TLS message without application data, such as a key update. Closes the connection soon
  // if there are too many.
  void OnTlsMessage();

  // OpenSSL's error that ended the handshake, or 0. Must be called in `closed`.
  unsigned long tls_error() const { return tls_error_; }

  // The functions that streams use.
  nghttp2_session* http2() { return session_.get(); }
  const std::string& peer() const { return peer_; }
  // If the client has presented one, the handshake has verified it.
  bool HasCertificate() const;
  const SessionLimits& limits() const { return limits_; }
  ServerContext& server() { return server_; }
  AddressContext& address_context() const { return address_; }
  ServerStream* Find(int32_t id);  // null: it has ended
  size_t streams() const { return streams_.size(); }
  // Streams of which only the status is left, until the client reads it.
  size_t refused_streams() const;
  // Sends as much of the submitted frames as the socket takes. May close the connection and delete
  // the session.
  void Send();

 private:
  friend struct SessionCallbacks;
  bool IsTls() const;
  // Lowers the connection's priority while its address has used up its CPU time of the loop.
  // Returns true if it was higher before.
  bool SetPriority(absl::Time now);
  // Calls OnReadable() in the connection's next turn if there are bytes that nghttp2 has not got.
  void ReadInNextTurn();
  void OnReadable();
  // Does the work, which may delete the session, and charges its address for the CPU time.
  void Charge(void (ServerSession::*work)());
  void Receive();  // may delete the session
  void OnWritable();
  void OnConnectionEvent(short what);
  // Returns false until the whole preface has come. A wrong one closes the connection.
  bool ReadPreface();
  void BeginHttp2();
  void CloseIfDone();
  void SendFinalGoaway();
  void OnRoundTripTimeout();
  // Stops reading from a client that does not read, because responses would pile up.
  void Throttle();
  void CloseForLimit(Limit limit);
  // Returns the limit if one more stream is too many, even one that is refused.
  std::optional<Limit> LimitOfRefusedStreams();

  // These return an nghttp2 error, which ends the connection, if the client exceeds the limit.
  int ChargeSettingsOrGoaway();
  int ChargeReset();
  // Reserves the bytes of CONTINUATION until the next frame of another type. OnHeader() sees only
  // whole fields, and HPACK keeps up to 64 KiB of one that is not.
  int ReserveContinuation();
  int CountHeader(ServerStream& stream, size_t bytes);
  // After the trailers, resets a stream that the client has not half-closed (RST_STREAM with
  // NO_ERROR: RFC 9113, section 8.1). Otherwise the client could keep it open for ever.
  void OnSent(const nghttp2_frame& frame);

  const std::unique_ptr<bufferevent, FreeEvents> connection_;
  const std::string peer_;
  ServerContext& server_;
  AddressContext& address_;
  const SessionLimits& limits_;
  const std::function<void(ServerSession*)> closed_;
  std::unique_ptr<nghttp2_session, FreeHttp2> session_;  // null until the whole preface has come
  OwnedEvent close_timer_;
  std::map<int32_t, std::unique_ptr<ServerStream>> streams_;
  CallBudget continuation_;  // bytes of a header block that has not ended
  FrameAllowance allowance_;
  absl::Time received_at_;
  absl::Time pinged_at_ = absl::InfiniteFuture();  // nothing was received since; else infinite
  bool has_sent_final_goaway_ = false;
  bool is_closing_ = false;  // once the output is sent
  bool is_throttled_ = false;
  bool is_low_priority_ = false;  // read when no other event is due
  unsigned long tls_error_ = 0;
  bool is_in_callback_ = false;
};

}  // namespace gpuscaler

// One client's connection: its bytes, HTTP/2 by nghttp2, and when it ends.
#pragma once

#include <event2/bufferevent.h>
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "wire/frame_allowance.h"
#include "wire/limits.h"
#include "wire/server_share.h"
#include "wire/server_stream.h"

namespace gpuscaler {

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

  // Closes the connection soon if too many come.
  void OnTlsMessage();

  // Returns the error of OpenSSL that ended the handshake. Must be called in `closed`. 0: none did.
  unsigned long tls_error() const { return tls_error_; }

  // The part that its streams use.
  nghttp2_session* http2() { return session_.get(); }
  const std::string& peer() const { return peer_; }
  // True if the client has shown one: the handshake fails if it is not of a trusted authority.
  bool HasCertificate() const;
  const SessionLimits& limits() const { return limits_; }
  ServerShare& server() { return server_; }
  AddressShare& address() { return address_; }
  ServerStream* Find(int32_t id);  // null: it has ended
  // Sends what is submitted, as much as the socket takes. May close the connection and delete the
  // session.
  void Send();

 private:
  friend struct SessionCallbacks;
  struct Free {
    void operator()(bufferevent* connection) const { bufferevent_free(connection); }
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
    void operator()(event* timer) const { event_free(timer); }
  };

  bool IsTls() const;
  // Puts the connection behind all others while its address has used up its part of the loop.
  void SetPriority(absl::Time now);
  void OnReadable();
  void Receive();  // bytes that have come; may delete the session
  void OnWritable();
  void OnConnectionEvent(short what);
  // False: the connection is closed or about to be.
  bool ReadPreface();
  void BeginHttp2();
  void CloseIfDone();
  // Sends the second GOAWAY.
  void AcceptNoMore();
  // A client that does not read its answers is not read either, for they would pile up.
  void Throttle();
  void CloseBeyond(Limit limit);

  int CountSettings();  // and GOAWAYs
  int CountReset();
  int CountHeader(ServerStream& stream, size_t bytes);
  void OnSent(const nghttp2_frame& frame);

  const std::unique_ptr<bufferevent, Free> connection_;
  const std::string peer_;
  ServerShare& server_;
  AddressShare& address_;
  const SessionLimits& limits_;
  const std::function<void(ServerSession*)> closed_;
  std::unique_ptr<nghttp2_session, Free> session_;  // null until the whole preface has come
  std::unique_ptr<event, Free> close_timer_;
  std::map<int32_t, std::unique_ptr<ServerStream>> streams_;
  FrameAllowance allowance_;
  absl::Time heard_at_;
  bool accepts_no_more_ = false;
  bool is_asked_ = false;    // whether it is there, since it was last heard
  bool is_closing_ = false;  // after what is to be sent
  bool is_throttled_ = false;
  bool is_last_ = false;  // read only when no other address waits
  unsigned long tls_error_ = 0;
  bool is_in_callback_ = false;
};

}  // namespace gpuscaler

// One connection to a server: its bytes, HTTP/2 by nghttp2, and when it ends.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "wire/client_call.h"
#include "wire/client_stream.h"
#include "wire/connect_attempt.h"
#include "wire/event_loop.h"
#include "wire/frame_allowance.h"
#include "wire/http2_bytes.h"
#include "wire/target.h"

namespace gpuscaler {

// Belongs to the loop's thread. A server beyond a limit is disconnected, or its call ends with
// RESOURCE_EXHAUSTED: 16 KiB of headers for a call, 8 CONTINUATION frames, 1,000 consecutive frames
// and TLS messages without use. PUSH_PROMISE is refused.
class ClientSession {
 public:
  // `loop` and `target` outlive the session. Calls `closed` once, last of all; it may delete the
  // session.
  ClientSession(Connection connection, EventLoop& loop, const Target& target,
                std::function<void()> closed);
  ~ClientSession();  // its calls end with CANCELLED
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  // Starts the call, or ends it with UNAVAILABLE.
  void Open(const std::shared_ptr<ClientCall>& call);

  // False: the server accepts no more calls here. The session closes after its last one.
  bool accepts_calls() const { return accepts_calls_; }

  // Counts a TLS message without application data, such as a key update. Closes the connection soon
  // if there are too many.
  void OnTlsMessage();

  // The functions that streams use.
  nghttp2_session* http2() { return session_.get(); }
  const Target& target() const { return target_; }
  ClientStream* Find(int32_t id);  // null: its call has ended
  // Removes a stream, which must be here.
  std::unique_ptr<ClientStream> Take(int32_t id);
  // Sends what is submitted, as much as the socket takes. May close the connection and delete the
  // session.
  void Send();

 private:
  friend struct ClientCallbacks;
  void BeginHttp2();
  void OnReadable();
  void OnConnectionEvent(short what);
  // Sends a keepalive PING, or ends a connection without an answer in time.
  void OnTimer();
  // Closes the connection. All of its calls end with UNAVAILABLE.
  void Lose(absl::string_view why, const ConnectFault& fault = {});

  EventLoop& loop_;
  const Target& target_;
  const std::function<void()> closed_;
  const Connection connection_;
  std::unique_ptr<nghttp2_session, FreeHttp2> session_;
  OwnedEvent timer_;
  std::map<int32_t, std::unique_ptr<ClientStream>> streams_;
  bool accepts_calls_ = true;
  bool has_settings_ = false;  // the server has sent SETTINGS: it uses HTTP/2
  std::string goaway_text_;    // debug data of the server's GOAWAY
  FrameAllowance allowance_;
  absl::string_view violation_ = "";  // why a frame, or a message of TLS, is refused
  std::string first_bytes_;           // received, 8 at most: they show another protocol
  std::chrono::steady_clock::time_point received_at_ = std::chrono::steady_clock::now();
  bool is_ping_pending_ = false;
  bool is_in_callback_ = false;
};

}  // namespace gpuscaler

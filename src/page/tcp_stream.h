// A non-blocking byte stream to one address, plain or TLS, for protocols other than HTTP.
//
//   TcpStream stream(server);
//   while (!stream.Connected()) { poll stream.PollEvents() for stream.WakeIn(); stream.Advance(); }
//   stream.Send("PING\r\n");
#pragma once

#include <curl/curl.h>
#include <poll.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "page/curl_connection.h"
#include "page/curl_easy.h"
#include "page/server_address.h"

namespace gpuscaler {

// Not thread-safe. Errors of all functions: UNAVAILABLE: refused or broken connection.
// FAILED_PRECONDITION: a certificate, ours or the server's, is rejected, or the server has no TLS.
// INVALID_ARGUMENT: our CA, certificate or key is invalid. After an error nothing can be sent, but
// data that has arrived can be received.
class TcpStream {
 public:
  // Starts to connect without blocking.
  explicit TcpStream(ServerAddress server);
  ~TcpStream();  // closes it
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Continues connecting. Call it when PollEvents() is ready and after WakeIn().
  void Advance();
  bool Connected() const { return connected_; }
  const absl::Status& status() const { return status_; }

  // Returns the argument for poll(): what connecting needs, then input. Its fd may be -1.
  pollfd PollEvents() const;
  absl::Duration WakeIn() const { return wake_at_ - real_.Now(); }

  // 0: no byte can be sent now; poll for output as well.
  absl::StatusOr<size_t> Send(absl::string_view bytes);

  // Returns the received bytes in `buffer`; empty: none yet. UNAVAILABLE: the server closed it.
  absl::StatusOr<absl::string_view> Receive(char* buffer, size_t size);

 private:
  void SetUp();
  void SetUpWaiting();
  void Ended(CURLcode code);
  absl::Status Fault(CURLcode code) const;

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* stream, void* of_socket);
  static int OnTimer(CURLM* multi, long timeout_ms, void* stream);

  const ServerAddress server_;
  const SteadyClock real_;
  char detail_[CURL_ERROR_SIZE] = "";
  bool connected_ = false;
  bool has_received_ = false;
  absl::Status status_;
  pollfd poll_events_ = {.fd = -1, .events = 0, .revents = 0};
  absl::Time wake_at_ = absl::InfiniteFuture();
  // One per stream: libcurl considers connections without a transfer idle, and closes those of a
  // multi handle when another one is added or removed (7.88, url.c and multi.c).
  std::unique_ptr<CURLM, CurlDeleter<&CurlFunctions::multi_cleanup>> multi_;
  CurlEasy easy_;
  CurlConnection connection_;
};

}  // namespace gpuscaler

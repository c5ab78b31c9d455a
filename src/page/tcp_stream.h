// A stream of bytes to one address, plain or TLS, that never waits: for protocols that are not
// HTTP.
//
//   TcpStream stream(target);
//   while (!stream.Connected()) { poll stream.WaitsFor() for stream.WakeIn(); stream.Advance(); }
//   stream.Send("PING\r\n");
#pragma once

#include <curl/curl.h>
#include <poll.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "page/curl_connection.h"
#include "page/curl_easy.h"
#include "page/ip_block.h"

namespace gpuscaler {

struct StreamTarget {
  std::string host;   // of its certificate: a name, or an address in figures
  IpAddress address;  // what is connected to, and nothing else, whatever `host` resolves to
  int port = 0;
  bool tls = false;
  TlsIdentity identity;

  friend auto operator<=>(const StreamTarget&, const StreamTarget&) = default;
};

// Not thread-safe. Status of anything: UNAVAILABLE: refused, broken off; FAILED_PRECONDITION: a
// certificate, ours or the server's, or no TLS at all; INVALID_ARGUMENT: our CA, certificate or key
// is none. After one nothing can be sent any more; what had arrived may still be received.
class TcpStream {
 public:
  // Connects at once, as far as it gets without waiting.
  explicit TcpStream(StreamTarget target);
  ~TcpStream();  // closes it
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Goes on connecting. To be called when WaitsFor() is ready, and after WakeIn().
  void Advance();
  bool Connected() const { return connected_; }
  const absl::Status& status() const { return status_; }

  // For poll(): while connecting what that takes, later input. Its fd is -1 at times.
  pollfd WaitsFor() const;
  absl::Duration WakeIn() const { return wake_at_ - real_.Now(); }

  // How many bytes went; 0: not now, wait for output as well.
  absl::StatusOr<size_t> Send(absl::string_view bytes);

  // What has arrived, into `buffer`; empty: nothing yet. UNAVAILABLE: the server closed it.
  absl::StatusOr<absl::string_view> Receive(char* buffer, size_t size);

 private:
  struct FreeMulti {
    void operator()(CURLM* handle) const { Curl().multi_cleanup(handle); }
  };

  void SetUp();
  void SetUpWaiting();
  void Ended(CURLcode code);
  absl::Status Fault(CURLcode code) const;

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* stream, void* of_socket);
  static int OnTimer(CURLM* multi, long timeout_ms, void* stream);

  const StreamTarget target_;
  const SteadyClock real_;
  char detail_[CURL_ERROR_SIZE] = "";
  bool connected_ = false;
  bool has_received_ = false;
  absl::Status status_;
  pollfd waits_for_ = {.fd = -1, .events = 0, .revents = 0};
  absl::Time wake_at_ = absl::InfiniteFuture();
  // One for each stream: libcurl takes connections without a transfer for idle, and closes those
  // of a multi handle when another one of it comes or goes (7.88, url.c and multi.c).
  std::unique_ptr<CURLM, FreeMulti> multi_;
  CurlEasy easy_;
  CurlConnection connection_;
};

}  // namespace gpuscaler

#include "page/tcp_stream.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "page/http_endpoint.h"
#include "page/scrape_fault.h"

namespace gpuscaler {
namespace {

// Servers that require a client certificate, or reject ours, send a TLS alert.
bool IsAboutClientCertificate(absl::string_view detail) {
  return absl::StrContains(detail, "alert") &&
         (absl::StrContains(detail, "certificate") || absl::StrContains(detail, "unknown ca"));
}

absl::Status ClientCertificateRefused(bool has_certificate) {
  return absl::FailedPreconditionError(
      has_certificate ? "it refuses our certificate: another authority signs what it takes"
                      : "it requires a client certificate: credentials names one");
}

// Since TLS 1.3 a server checks the client certificate after the client's handshake has ended. Its
// alert is lost if the connection closes before it is read.
absl::Status BrokenAfterHandshake(bool has_certificate) {
  return absl::UnavailableError(
      absl::StrCat("it broke the connection after the TLS handshake: it may ",
                   has_certificate ? "refuse our certificate" : "require a client certificate"));
}

}  // namespace

TcpStream::TcpStream(ServerAddress server)
    : server_(std::move(server)), connection_(easy_, server_) {
  if (easy_.status().ok()) SetUp();
  status_ = easy_.status();
  if (!status_.ok()) return;
  SetUpWaiting();
  Curl().multi_add_handle(multi_.get(), easy_.get());
  Advance();
}

TcpStream::~TcpStream() {
  if (multi_ != nullptr) Curl().multi_remove_handle(multi_.get(), easy_.get());
}

void TcpStream::SetUp() {
  const std::string authority = HostAndPort(server_.host, server_.port);
  easy_.Set(CURLOPT_URL, absl::StrCat(server_.tls ? "https://" : "http://", authority));
  easy_.Set(CURLOPT_CONNECT_ONLY, 1L);
  easy_.Set(CURLOPT_ERRORBUFFER, detail_);
  easy_.Set(CURLOPT_SSL_ENABLE_ALPN, 0L);  // it would offer HTTP
}

void TcpStream::SetUpWaiting() {
  multi_.reset(Curl().multi_init());
  Curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &TcpStream::OnSocket);
  Curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  Curl().multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &TcpStream::OnTimer);
  Curl().multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

void TcpStream::Advance() {
  if (connected_ || !status_.ok()) return;
  int running = 0;
  if (poll_events_.fd >= 0) Curl().multi_socket_action(multi_.get(), poll_events_.fd, 0, &running);
  while (real_.Now() >= wake_at_) {
    wake_at_ = absl::InfiniteFuture();
    Curl().multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
  int left = 0;
  const CURLMsg* const message = Curl().multi_info_read(multi_.get(), &left);
  if (message != nullptr && message->msg == CURLMSG_DONE) Ended(message->data.result);
}

void TcpStream::Ended(CURLcode code) {
  wake_at_ = absl::InfiniteFuture();
  if (code != CURLE_OK) {
    status_ = Fault(code);
    return;
  }
  poll_events_ = {.fd = easy_.Info(CURLINFO_ACTIVESOCKET, curl_socket_t{CURL_SOCKET_BAD}),
                  .events = POLLIN,
                  .revents = 0};
  connected_ = true;
}

pollfd TcpStream::PollEvents() const { return poll_events_; }

absl::StatusOr<size_t> TcpStream::Send(absl::string_view bytes) {
  size_t sent = 0;
  const CURLcode code = Curl().easy_send(easy_.get(), bytes.data(), bytes.size(), &sent);
  if (code == CURLE_OK) return sent;
  if (code == CURLE_AGAIN) return size_t{0};
  status_ = Fault(code);
  return status_;
}

absl::StatusOr<absl::string_view> TcpStream::Receive(char* buffer, size_t size) {
  size_t received = 0;
  const CURLcode code = Curl().easy_recv(easy_.get(), buffer, size, &received);
  if (code == CURLE_AGAIN) return absl::string_view();
  if (code == CURLE_OK && received > 0) {
    has_received_ = true;
    return absl::string_view(buffer, received);
  }
  status_ = code == CURLE_OK ? absl::UnavailableError("it closed the connection") : Fault(code);
  return status_;
}

absl::Status TcpStream::Fault(CURLcode code) const {
  const absl::string_view detail = detail_;
  if (IsAboutClientCertificate(detail))
    return ClientCertificateRefused(!server_.identity.cert.empty());
  if (!connection_.refused().ok()) return connection_.refused();
  const auto os_error = static_cast<int>(easy_.Info(CURLINFO_OS_ERRNO, 0L));
  switch (code) {
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      if (server_.tls && !has_received_)
        return BrokenAfterHandshake(!server_.identity.cert.empty());
      break;
    case CURLE_SSL_CERTPROBLEM:
      return absl::InvalidArgumentError("our certificate and its key are no PEM texts of one pair");
    case CURLE_SSL_CONNECT_ERROR:
      return absl::FailedPreconditionError("no TLS handshake: it may not speak TLS at this port");
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::UnavailableError(Curl().easy_strerror(code));
    default:
      break;
  }
  return TransferFault(code, os_error, detail);
}

int TcpStream::OnSocket(CURL*, curl_socket_t fd, int what, void* stream, void*) {
  pollfd& poll_events = static_cast<TcpStream*>(stream)->poll_events_;
  poll_events = {.fd = what == CURL_POLL_REMOVE ? -1 : fd, .events = 0, .revents = 0};
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) poll_events.events |= POLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) poll_events.events |= POLLOUT;
  return 0;
}

int TcpStream::OnTimer(CURLM*, long timeout_ms, void* stream) {
  auto& self = *static_cast<TcpStream*>(stream);
  self.wake_at_ =
      timeout_ms < 0 ? absl::InfiniteFuture() : self.real_.Now() + absl::Milliseconds(timeout_ms);
  return 0;
}

}  // namespace gpuscaler

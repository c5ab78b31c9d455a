#include "signal/tcp_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "signal/curl_library.h"
#include "signal/http_endpoint.h"

namespace gpuscaler {
namespace {

template <typename Value>
void SetOption(CURL* easy, CURLoption option, Value value) {
  curl_easy_setopt(easy, option, value);
}

bool LeadsTo(const curl_sockaddr& where, const StreamTarget& target) {
  IpAddress address = *ParseIpAddress("0.0.0.0");
  int port = 0;
  if (where.family == AF_INET) {
    const auto& to = reinterpret_cast<const sockaddr_in&>(where.addr);
    std::memcpy(&address.bytes[12], &to.sin_addr, sizeof(to.sin_addr));
    port = ntohs(to.sin_port);
  } else if (where.family == AF_INET6) {
    const auto& to = reinterpret_cast<const sockaddr_in6&>(where.addr);
    std::memcpy(address.bytes.data(), &to.sin6_addr, sizeof(to.sin6_addr));
    port = ntohs(to.sin6_port);
  }
  return address == target.address && port == target.port;
}

// Servers say by an alert that they want a certificate, or a better one than ours.
bool IsAboutOurs(absl::string_view detail) {
  return absl::StrContains(detail, "alert") &&
         (absl::StrContains(detail, "certificate") || absl::StrContains(detail, "unknown ca"));
}

absl::Status OursRefused(bool have_one) {
  return absl::FailedPreconditionError(
      have_one ? "it refuses our certificate: another authority signs what it takes"
               : "it wants a certificate of us: credentials names one");
}

// From TLS 1.3 on a server judges our certificate when we are done with the handshake, and its
// reason is lost when the connection is gone before it was read.
absl::Status BrokenAfterHandshake(bool have_one) {
  return absl::UnavailableError(
      absl::StrCat("it broke the connection after the TLS handshake: it may ",
                   have_one ? "refuse our certificate" : "want a certificate of us"));
}

}  // namespace

TcpStream::TcpStream(StreamTarget target)
    : target_(std::move(target)), multi_(curl_multi_init()), easy_(curl_easy_init()) {
  status_ = LoadCurl();
  if (!status_.ok()) return;
  SetUp();
  if (target_.tls) SetUpTls();
  SetUpWaiting();
  curl_multi_add_handle(multi_.get(), easy_.get());
  Advance();
}

TcpStream::~TcpStream() { curl_multi_remove_handle(multi_.get(), easy_.get()); }

void TcpStream::SetUp() {
  CURL* const easy = easy_.get();
  const std::string place = HostAndPort(target_.host, target_.port);
  SetOption(easy, CURLOPT_URL, absl::StrCat(target_.tls ? "https://" : "http://", place).c_str());
  SetOption(easy, CURLOPT_CONNECT_ONLY, 1L);
  // No name is resolved, and no proxy of the environment is asked.
  connect_to_.reset(curl_slist_append(
      nullptr,
      absl::StrCat("::", HostAndPort(IpAddressText(target_.address), target_.port)).c_str()));
  SetOption(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  SetOption(easy, CURLOPT_PROXY, "");
  SetOption(easy, CURLOPT_NOPROXY, "*");
  SetOption(easy, CURLOPT_NOSIGNAL, 1L);
  SetOption(easy, CURLOPT_OPENSOCKETFUNCTION, &TcpStream::OnOpen);
  SetOption(easy, CURLOPT_OPENSOCKETDATA, this);
  SetOption(easy, CURLOPT_ERRORBUFFER, detail_);
}

void TcpStream::SetUpTls() {
  CURL* const easy = easy_.get();
  SetOption(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  SetOption(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  SetOption(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);  // it would offer HTTP
  if (!target_.identity.ca.empty()) {
    SetBlob(CURLOPT_CAINFO_BLOB, target_.identity.ca);
    SetOption(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // no other authority
  }
  if (target_.identity.cert.empty()) return;
  SetBlob(CURLOPT_SSLCERT_BLOB, target_.identity.cert);
  SetBlob(CURLOPT_SSLKEY_BLOB, target_.identity.key);
}

void TcpStream::SetBlob(CURLoption option, const std::string& pem) {
  curl_blob blob = {.data = const_cast<char*>(pem.data()),
                    .len = pem.size(),
                    .flags = CURL_BLOB_NOCOPY};  // target_ lives as long as the handle
  curl_easy_setopt(easy_.get(), option, &blob);
}

void TcpStream::SetUpWaiting() {
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &TcpStream::OnSocket);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &TcpStream::OnTimer);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

void TcpStream::Advance() {
  if (connected_ || !status_.ok()) return;
  int running = 0;
  if (waits_for_.fd >= 0) curl_multi_socket_action(multi_.get(), waits_for_.fd, 0, &running);
  while (real_.Now() >= wake_at_) {
    wake_at_ = absl::InfiniteFuture();
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
  int left = 0;
  const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left);
  if (message != nullptr && message->msg == CURLMSG_DONE) Ended(message->data.result);
}

void TcpStream::Ended(CURLcode code) {
  wake_at_ = absl::InfiniteFuture();
  if (code != CURLE_OK) {
    status_ = Fault(code);
    return;
  }
  curl_socket_t fd = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &fd);
  waits_for_ = {.fd = fd, .events = POLLIN, .revents = 0};
  connected_ = true;
}

pollfd TcpStream::WaitsFor() const { return waits_for_; }

absl::StatusOr<size_t> TcpStream::Send(absl::string_view bytes) {
  size_t sent = 0;
  const CURLcode code = curl_easy_send(easy_.get(), bytes.data(), bytes.size(), &sent);
  if (code == CURLE_OK) return sent;
  if (code == CURLE_AGAIN) return size_t{0};
  status_ = Fault(code);
  return status_;
}

absl::StatusOr<absl::string_view> TcpStream::Receive(char* buffer, size_t size) {
  size_t received = 0;
  const CURLcode code = curl_easy_recv(easy_.get(), buffer, size, &received);
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
  if (IsAboutOurs(detail)) return OursRefused(!target_.identity.cert.empty());
  long os_error = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &os_error);
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return absl::UnavailableError(os_error == 0 ? "no connection"
                                                  : strerror(static_cast<int>(os_error)));
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      if (target_.tls && !has_received_)
        return BrokenAfterHandshake(!target_.identity.cert.empty());
      return absl::UnavailableError("it broke the connection");
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::FailedPreconditionError(absl::StrCat(
          "its certificate: ",
          absl::StripPrefix(absl::StripPrefix(detail, "SSL certificate problem: "), "SSL: ")));
    case CURLE_SSL_CACERT_BADFILE:
      return absl::InvalidArgumentError("the CA that it is checked with is no PEM certificate");
    case CURLE_SSL_CERTPROBLEM:
      return absl::InvalidArgumentError("our certificate and its key are no PEM texts of one pair");
    case CURLE_SSL_CONNECT_ERROR:
      return absl::FailedPreconditionError("no TLS handshake: it may not speak TLS at this port");
    default:
      return absl::UnavailableError(curl_easy_strerror(code));
  }
}

curl_socket_t TcpStream::OnOpen(void* stream, curlsocktype, curl_sockaddr* where) {
  if (!LeadsTo(*where, static_cast<TcpStream*>(stream)->target_)) return CURL_SOCKET_BAD;
  return socket(where->family, where->socktype | SOCK_CLOEXEC, where->protocol);
}

int TcpStream::OnSocket(CURL*, curl_socket_t fd, int what, void* stream, void*) {
  pollfd& waits_for = static_cast<TcpStream*>(stream)->waits_for_;
  waits_for = {.fd = what == CURL_POLL_REMOVE ? -1 : fd, .events = 0, .revents = 0};
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) waits_for.events |= POLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) waits_for.events |= POLLOUT;
  return 0;
}

int TcpStream::OnTimer(CURLM*, long timeout_ms, void* stream) {
  auto& self = *static_cast<TcpStream*>(stream);
  self.wake_at_ =
      timeout_ms < 0 ? absl::InfiniteFuture() : self.real_.Now() + absl::Milliseconds(timeout_ms);
  return 0;
}

}  // namespace gpuscaler

#include "page/curl_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hello_request.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

// Returns nullopt unless it is an IPv4 or IPv6 address.
std::optional<std::pair<IpAddress, int>> AddressAndPort(const curl_sockaddr& where) {
  IpAddress address = *ParseIpAddress("0.0.0.0");
  if (where.family == AF_INET) {
    const auto& to = reinterpret_cast<const sockaddr_in&>(where.addr);
    std::memcpy(&address.bytes[12], &to.sin_addr, sizeof(to.sin_addr));
    return std::pair(address, int{ntohs(to.sin_port)});
  }
  if (where.family != AF_INET6) return std::nullopt;
  const auto& to = reinterpret_cast<const sockaddr_in6&>(where.addr);
  std::memcpy(address.bytes.data(), &to.sin6_addr, sizeof(to.sin6_addr));
  return std::pair(address, int{ntohs(to.sin6_port)});
}

void EndAtHelloRequest(int is_sent, int /*version*/, int type, const void* message, size_t size,
                       SSL* tls, void* /*unused*/) {
  if (!IsHelloRequest(is_sent, type, message, size)) return;
  if (Curl().ssl_in_init(tls) == 0) return;                        // it may renegotiate
  Curl().ssl_set0_rbio(tls, Curl().bio_new(Curl().bio_s_null()));  // nothing is left to read
}

// With SSL_MODE_AUTO_RETRY, OpenSSL's default, one read does not return while a server sends
// KeyUpdates: other transfers would wait.
CURLcode LimitTlsMessages(CURL*, void* context, void*) {
  auto* const tls = static_cast<SSL_CTX*>(context);
  Curl().ssl_ctx_ctrl(tls, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, nullptr);
  Curl().ssl_ctx_set_msg_callback(tls, EndAtHelloRequest);
  return CURLE_OK;
}

}  // namespace

CurlConnection::CurlConnection(CurlEasy& easy, const ServerAddress& server) : server_(server) {
  if (!easy.status().ok()) return;
  // Each address of a name then has its own connections.
  connect_to_.Add(absl::StrCat("::", HostAndPort(IpAddressText(server.address), server.port)));
  easy.Set(CURLOPT_CONNECT_TO, connect_to_);
  easy.Set(CURLOPT_OPENSOCKETFUNCTION, &CurlConnection::OnOpen);
  easy.Set(CURLOPT_OPENSOCKETDATA, this);
  if (Curl().ssl_ctx_ctrl != nullptr && Curl().ssl_set0_rbio != nullptr) {
    easy.Set(CURLOPT_SSL_CTX_FUNCTION, &LimitTlsMessages);
  }
  easy.SetTls(server.identity);
}

curl_socket_t CurlConnection::OnOpen(void* connection, curlsocktype, curl_sockaddr* where) {
  return static_cast<CurlConnection*>(connection)->Open(*where);
}

curl_socket_t CurlConnection::Open(const curl_sockaddr& where) {
  if (AddressAndPort(where) != std::pair(server_.address, server_.port)) {
    refused_ = absl::PermissionDeniedError("a connection to another address was tried");
    return CURL_SOCKET_BAD;
  }
  const int opened = socket(where.family, where.socktype | SOCK_CLOEXEC, where.protocol);
  if (opened < 0) {
    refused_ = absl::ResourceExhaustedError(absl::StrCat("no socket: ", strerror(errno)));
  }
  return opened;
}

}  // namespace gpuscaler

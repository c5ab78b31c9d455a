// Where a handle of libcurl may connect to, and whom it trusts there: alike for pages and for
// streams.
#pragma once

#include <curl/curl.h>

#include <string>

#include "absl/status/status.h"
#include "page/curl_easy.h"
#include "page/ip_block.h"

namespace gpuscaler {

// PEM texts. The keys are secret.
struct TlsIdentity {
  std::string ca;    // who signs the server's certificate; empty: the system's authorities
  std::string cert;  // our own, for servers that want one (mutual TLS); empty: none
  std::string key;

  friend auto operator<=>(const TlsIdentity&, const TlsIdentity&) = default;
};

// One address and port, and nothing else: no name is resolved, no proxy of the environment asked.
// Not thread-safe.
class CurlConnection {
 public:
  // The handle is told; it and the identity outlive this.
  CurlConnection(CurlEasy& easy, const IpAddress& address, int port, const TlsIdentity& identity);
  CurlConnection(const CurlConnection&) = delete;
  CurlConnection& operator=(const CurlConnection&) = delete;

  // Why no socket was opened. PERMISSION_DENIED: it would have led elsewhere; RESOURCE_EXHAUSTED:
  // there was none.
  const absl::Status& refused() const { return refused_; }

 private:
  static curl_socket_t OnOpen(void* connection, curlsocktype purpose, curl_sockaddr* where);
  curl_socket_t Open(const curl_sockaddr& where);

  const IpAddress address_;
  const int port_;
  CurlList connect_to_;
  absl::Status refused_;
};

}  // namespace gpuscaler

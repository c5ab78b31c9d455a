// TLS as clients use it: HTTP/2 by ALPN, TLS 1.2 or later, the server's name is verified.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "wire/refused_handshakes.h"
#include "wire/tls_files.h"

namespace gpuscaler {

// Without `ca` servers must have a certificate of the system's authorities. Without `cert` the
// client has none. Any number of connections may share the context. INVALID_ARGUMENT: a text cannot
// be used.
absl::StatusOr<std::shared_ptr<SSL_CTX>> ClientTls(const TlsPems& pems);

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
};

// Returns the client's side of a new connection. Its handshake fails unless the server's
// certificate has `server_name` among its DNS names, or among its IP addresses if `server_name` is
// an address. A certificate's common name does not count.
std::unique_ptr<SSL, FreeTls> ClientTlsOf(SSL_CTX* context, const std::string& server_name);

// Returns the DNS names in the server's certificate, wildcards such as "*.example.com" unexpanded.
std::vector<std::string> DnsNamesOf(const SSL* tls);

// Why a TLS handshake failed, or a connection after its handshake.
struct TlsFault {
  HandshakeFault fault = HandshakeFault::kOther;
  std::string text;
};

// `error` is OpenSSL's; 0: the server has closed the connection.
TlsFault TlsFaultOf(const SSL* tls, unsigned long error);

}  // namespace gpuscaler

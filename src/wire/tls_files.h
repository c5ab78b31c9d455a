// A certificate, its key and the CA of clients, as PEM files that may be replaced while we serve.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

struct TlsFiles {
  std::string cert;  // chain, leaf first
  std::string key;
  std::string client_ca;  // empty: clients need no certificate

  bool Enabled() const { return !cert.empty() || !key.empty() || !client_ca.empty(); }
};

// The PEM texts of a server or a client.
struct TlsPems {
  std::string cert;  // chain, leaf first
  std::string key;
  std::string ca;  // the authority of the other side's certificates

  friend bool operator==(const TlsPems&, const TlsPems&) = default;
};

// Reads and checks: all readable, PEM, the key belongs to the certificate, the certificate is
// valid today. INVALID_ARGUMENT names the file and the fault; never prints a key.
absl::StatusOr<TlsPems> ReadTls(const TlsFiles& files);

}  // namespace gpuscaler

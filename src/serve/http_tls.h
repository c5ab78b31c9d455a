// TLS of the HTTP server, with GnuTLS: the certificate pair and client CA in use.
#pragma once

#include <gnutls/gnutls.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "wire/tls_files.h"

namespace gpuscaler {

// Thread-safe.
class HttpTls {
 public:
  // Returns INVALID_ARGUMENT for unusable files.
  static absl::StatusOr<std::unique_ptr<HttpTls>> Open(const TlsFiles& files);

  // Reads the files again, and uses those that changed if the read before returned the same.
  // Returns an error for a bad pair, and keeps the last good one.
  absl::Status Reload();

  TlsPems pems() const;  // those in use

  // Makes a session use the pair, and require a client certificate if there is a client CA. Must be
  // called before the handshake. The result must outlive the session.
  std::shared_ptr<const void> Attach(gnutls_session_t session) const;

 private:
  using Credentials = std::shared_ptr<gnutls_certificate_credentials_st>;

  explicit HttpTls(TlsFiles files) : reader_(std::move(files)) {}
  static absl::StatusOr<Credentials> Load(const TlsPems& pems);

  TlsFileReader reader_;
  mutable Mutex mutex_;
  TlsPems pems_ ABSL_GUARDED_BY(mutex_);
  Credentials credentials_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

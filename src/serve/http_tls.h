// TLS of the HTTP server, through GnuTLS: the pair and the client CA in force.
#pragma once

#include <gnutls/gnutls.h>

#include <memory>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "wire/tls_files.h"

namespace gpuscaler {

// Thread-safe.
class HttpTls {
 public:
  // INVALID_ARGUMENT for unusable files.
  static absl::StatusOr<std::unique_ptr<HttpTls>> Open(const TlsFiles& files);

  // Reads the files again; a bad pair keeps the last good one and is the error returned.
  absl::Status Reload();

  // What is in force now.
  TlsPems pems() const;

  // Makes a session whose handshake has not begun use what is in force now: its pair, and a
  // certificate of the client CA where there is one. The result has to outlive the session.
  std::shared_ptr<const void> Attach(gnutls_session_t session) const;

 private:
  using Credentials = std::shared_ptr<gnutls_certificate_credentials_st>;

  explicit HttpTls(TlsFiles files) : files_(std::move(files)) {}
  static absl::StatusOr<Credentials> Load(const TlsPems& pems);

  const TlsFiles files_;
  mutable Mutex mutex_;
  TlsPems pems_ ABSL_GUARDED_BY(mutex_);
  Credentials credentials_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

// TLS whose certificate can be replaced while the server runs.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "rpc/tls_files.h"

namespace gpuscaler {

// The pair that new connections get; those that are open keep theirs. Thread-safe.
class TlsPair {
 public:
  explicit TlsPair(TlsPems pems) : pems_(std::move(pems)) {}

  // False: these are the ones in use.
  bool Replace(TlsPems pems);

  bool WantsClientCertificates() const;

  // The pair, unless this has handed it out already.
  std::optional<TlsPems> TakeNew();

 private:
  mutable Mutex mutex_;
  TlsPems pems_ ABSL_GUARDED_BY(mutex_);
  bool taken_ ABSL_GUARDED_BY(mutex_) = false;
};

// For one port. With a client CA in the pair at the start, clients must show a certificate of that
// CA. `pair` outlives the server.
std::shared_ptr<grpc::ServerCredentials> ReloadingCredentials(TlsPair& pair);

}  // namespace gpuscaler

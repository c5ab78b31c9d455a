// The TLS context of an aggregator's connections to agents, made from files that may change.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/rate_limit.h"
#include "wire/tls_files.h"

namespace gpuscaler {

// Thread-safe.
class AgentTls {
 public:
  AgentTls(TlsFiles files, const Clock& clock)
      : files_(std::move(files)), unusable_log_(clock, 1, absl::Seconds(10)) {}

  // Reads the files. Returns the same context until they change, then a new one. If they are
  // unusable, logs a warning, at most one in 10 s, and returns the last good context. Returns
  // INVALID_ARGUMENT if there is none.
  absl::StatusOr<std::shared_ptr<SSL_CTX>> Context() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const TlsFiles files_;
  Mutex mutex_;
  RateLimit unusable_log_ ABSL_GUARDED_BY(mutex_);
  TlsPems pems_ ABSL_GUARDED_BY(mutex_);
  // The context of `pems_`, which all connections share.
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

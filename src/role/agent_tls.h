// The TLS context of an aggregator's connections to agents, made from files that may change.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/rate_limit.h"
#include "wire/tls_files.h"

namespace gpuscaler {

// Thread-safe.
class AgentTls {
 public:
  AgentTls(TlsFiles files, const Clock& clock)
      : clock_(clock), reader_(std::move(files)), unusable_log_(clock, 1, absl::Seconds(10)) {}

  // Returns the same context until two reads of the files, kReloadInterval apart or more, return
  // others; then a new one. If they are unusable, logs a warning, at most one in 10 s, and returns
  // the last good context. Returns INVALID_ARGUMENT if there is none.
  absl::StatusOr<std::shared_ptr<SSL_CTX>> Context() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Clock& clock_;
  TlsFileReader reader_;
  Mutex mutex_;
  absl::Time read_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  RateLimit unusable_log_ ABSL_GUARDED_BY(mutex_);
  TlsPems pems_ ABSL_GUARDED_BY(mutex_);
  // The context of `pems_`, which all connections share.
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

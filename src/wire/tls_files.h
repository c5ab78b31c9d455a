// A certificate, its key and the CA of clients, as PEM files that may be replaced while we serve.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"

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

// Reads files again and again. Thread-safe.
//
// A file that is written in place may be read when it has only the first of its certificates, which
// is valid PEM too. So a change is used once two reads in a row returned it. A writer must take
// less time than callers leave between two reads.
class TlsFileReader {
 public:
  explicit TlsFileReader(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles& files() const { return files_; }

  // Returns the texts to use: those of the first read, until two reads in a row return others.
  // Returns the error of ReadTls() if the files are unusable now.
  absl::StatusOr<TlsPems> Read() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const TlsFiles files_;
  Mutex mutex_;
  std::optional<TlsPems> used_ ABSL_GUARDED_BY(mutex_);
  std::optional<TlsPems> last_read_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler

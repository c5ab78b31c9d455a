// Which HTTP requests the web port serves: by their Host header, and by a bearer token.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace gpuscaler {

struct WebAccessOptions {
  std::string bind_address;
  std::vector<std::string> hosts;  // further names and addresses of this host, without ports
  std::string token_file;          // empty: no token is required
};

// Thread-safe.
class WebAccess {
 public:
  // A shorter token could be guessed.
  static constexpr size_t kShortestToken = 16;

  // Returns INVALID_ARGUMENT if the token file cannot be read or has no usable token.
  static absl::StatusOr<std::unique_ptr<WebAccess>> Open(const WebAccessOptions& options);

  // Reads the token file again. Returns an error for an unusable one, and keeps the last good one.
  absl::Status ReloadToken();
  bool HasToken() const { return !token_file_.empty(); }

  // Returns PERMISSION_DENIED if `host`, the Host header, names another host. A page of another
  // site could otherwise reach this port under its own name (DNS rebinding).
  absl::Status CheckHost(absl::string_view host) const;

  // Returns PERMISSION_DENIED if a page of another origin sent the request. `fetch_site` is the
  // Sec-Fetch-Site header (W3C Fetch Metadata), which other clients than browsers lack. Such a page
  // could not read the reply, but could hold all event streams and keep the workers busy.
  static absl::Status CheckSite(absl::string_view fetch_site);

  // Returns UNAUTHENTICATED unless `authorization`, the Authorization header, has the token. The
  // time that it takes does not depend on the token.
  absl::Status CheckToken(absl::string_view authorization) const;

 private:
  using Digest = std::array<unsigned char, 32>;

  explicit WebAccess(const WebAccessOptions& options);

  const std::string token_file_;
  std::set<std::string> hosts_;  // in lower case, IPv6 addresses in brackets
  mutable Mutex mutex_;
  Digest token_ ABSL_GUARDED_BY(mutex_) = {};  // SHA-256
};

}  // namespace gpuscaler

// The address that a libcurl handle may connect to, and the certificates it trusts there. Used for
// metrics endpoints and for streams.
#pragma once

#include <curl/curl.h>

#include "absl/status/status.h"
#include "page/curl_easy.h"
#include "page/server_address.h"

namespace gpuscaler {

// Restricts a handle to one address and port: it resolves no name and uses no proxy of the
// environment. Not thread-safe.
class CurlConnection {
 public:
  // Sets the options of `easy`, which must outlive this object, as must `server`.
  CurlConnection(CurlEasy& easy, const ServerAddress& server);
  CurlConnection(const CurlConnection&) = delete;
  CurlConnection& operator=(const CurlConnection&) = delete;

  // PERMISSION_DENIED: the socket was for another address. RESOURCE_EXHAUSTED: no socket was
  // available.
  const absl::Status& refused() const { return refused_; }

 private:
  static curl_socket_t OnOpen(void* connection, curlsocktype purpose, curl_sockaddr* where);
  curl_socket_t Open(const curl_sockaddr& where);

  const ServerAddress& server_;
  CurlList connect_to_;
  absl::Status refused_;
};

}  // namespace gpuscaler

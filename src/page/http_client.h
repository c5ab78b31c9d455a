// A client of one server that the user of a command names: Prometheus, or a running scaler.
// Requests for what tenants name go through MetricsFetcher.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "page/curl_easy.h"
#include "page/http_endpoint.h"
#include "page/server_address.h"

namespace gpuscaler {

struct HttpClientOptions {
  std::string bearer_token;  // secret; empty: none
  TlsIdentity identity;
  std::string server_name;                    // in the certificate; empty: the host of the URL
  absl::Duration timeout = absl::Minutes(2);  // each request
  size_t max_bytes = size_t{64} << 20;        // a body, uncompressed
};

struct HttpAnswer {
  int status = 0;  // 200
  std::string body;
};

// Sends one GET request at a time, on a kept connection. Not thread-safe.
class HttpClient {
 public:
  // Returns INVALID_ARGUMENT for a URL that is not http or https or has a query, and for a token
  // with spaces or control characters.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Open(const std::string& url,
                                                          const HttpClientOptions& options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns the URL, for messages.
  std::string server() const { return server_.Text(); }

  // Sends a request for `path`, which begins with "/" and includes its query, below the URL.
  // Cancels the request in flight.
  void Start(const std::string& path);
  bool in_flight() const { return in_flight_; }

  // Blocks until the request ended, one of the descriptors is readable, or `timeout` has passed.
  // Returns the answer, whatever its status, or nullopt if the request did not end. Errors begin
  // with server(). They are those of TransferFault(), and RESOURCE_EXHAUSTED if the body is larger
  // than `max_bytes`.
  std::optional<absl::StatusOr<HttpAnswer>> Wait(absl::Duration timeout,
                                                 std::span<const int> descriptors = {});

  // Starts a request and waits for its end.
  absl::StatusOr<HttpAnswer> Get(const std::string& path);

 private:
  HttpClient(HttpEndpoint server, const HttpClientOptions& options);
  absl::Status SetUp();
  void Cancel();
  absl::StatusOr<HttpAnswer> Result(CURLcode code);
  static size_t OnBody(char* bytes, size_t one, size_t count, void* client);

  const HttpEndpoint server_;
  const HttpClientOptions options_;  // the handle refers to them
  std::string url_;                  // without the path
  CurlList headers_;
  CurlList connect_to_;
  CurlEasy easy_;
  std::unique_ptr<CURLM, CurlDeleter<&CurlFunctions::multi_cleanup>> all_;
  bool in_flight_ = false;
  bool is_too_large_ = false;
  char detail_[CURL_ERROR_SIZE] = "";
  std::string body_;
};

}  // namespace gpuscaler

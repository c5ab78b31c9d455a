// Calls the web API (docs/api.yaml) of a running scaler.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "app/command.h"
#include "page/curl_easy.h"
#include "page/http_endpoint.h"

namespace gpuscaler {

struct WebClientOptions {
  std::string server = "http://127.0.0.1:8082";
  std::string ca;  // files
  std::string cert;
  std::string key;
  std::string token_file;
  std::string server_name;  // in the certificate; empty: the host of `server`
};

// The flags set `client`, which must outlive them.
std::vector<Flag> WebClientFlags(WebClientOptions* client);

// Percent-encodes all but the unreserved characters of RFC 3986.
std::string UrlEscaped(absl::string_view text);

// Sends one GET request at a time, on a kept connection. Not thread-safe.
class WebClient {
 public:
  // Returns INVALID_ARGUMENT for a bad URL, an unreadable file, or a token that would be sent in
  // plain text to another host.
  static absl::StatusOr<std::unique_ptr<WebClient>> Open(const WebClientOptions& options);
  ~WebClient();
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;

  // Sends a request for `path`, which begins with "/" and includes its query. Cancels the request
  // in flight.
  void Start(const std::string& path);
  bool in_flight() const { return in_flight_; }

  // Blocks until the request ended, one of the descriptors is readable, or `timeout` has passed.
  // Returns the body of a reply, an error, or nullopt if the request did not end:
  //   UNAVAILABLE       no reply, or HTTP 503; the message describes how to reach the port
  //   UNAUTHENTICATED   HTTP 401 and 403
  //   NOT_FOUND         HTTP 404
  //   OUT_OF_RANGE      HTTP 410: no longer kept
  //   INVALID_ARGUMENT  HTTP 400
  std::optional<absl::StatusOr<std::string>> Wait(absl::Duration timeout,
                                                  std::span<const int> descriptors = {});

  // Starts a request and waits for its end.
  absl::StatusOr<std::string> Get(const std::string& path);

 private:
  WebClient(const WebClientOptions& options, HttpEndpoint server);
  absl::Status SetUp(const WebClientOptions& options);
  void Cancel();
  absl::StatusOr<std::string> Result(CURLcode code);
  static size_t OnBody(char* bytes, size_t one, size_t count, void* client);

  const HttpEndpoint server_;
  const std::string name_;  // the server's, for messages
  std::string url_;         // without the path
  std::string ca_;          // PEM; the handle refers to them
  std::string cert_;
  std::string key_;
  CurlList headers_;
  CurlList connect_to_;
  CurlEasy easy_;
  std::unique_ptr<CURLM, CurlDeleter<&CurlFunctions::multi_cleanup>> all_;
  bool in_flight_ = false;
  char detail_[CURL_ERROR_SIZE] = "";
  std::string body_;
};

}  // namespace gpuscaler

#include "page/http_client.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/poll_timeout.h"
#include "base/status_macros.h"
#include "page/scrape_fault.h"

namespace gpuscaler {

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Open(const std::string& url,
                                                             const HttpClientOptions& options) {
  ASSIGN_OR_RETURN(HttpEndpoint server, ParseHttpEndpoint(url));
  if (absl::StrContains(server.path, '?')) {
    return absl::InvalidArgumentError(absl::StrCat(server.Text(), ": use a URL without a query"));
  }
  if (!std::ranges::all_of(options.bearer_token, absl::ascii_isgraph)) {
    return absl::InvalidArgumentError("the bearer token has spaces or control characters");
  }
  std::unique_ptr<HttpClient> client(new HttpClient(std::move(server), options));
  RETURN_IF_ERROR(client->SetUp());
  return client;
}

HttpClient::HttpClient(HttpEndpoint server, const HttpClientOptions& options)
    : server_(std::move(server)), options_(options) {}

HttpClient::~HttpClient() { Cancel(); }

absl::Status HttpClient::SetUp() {
  RETURN_IF_ERROR(easy_.status());
  all_.reset(Curl().multi_init());
  const int port = server_.PortOfScheme();
  const std::string address = HostAndPort(server_.host, port);
  const std::string& name = options_.server_name.empty() ? server_.host : options_.server_name;
  url_ = absl::StrCat(server_.tls ? "https://" : "http://", HostAndPort(name, port),
                      absl::StripSuffix(server_.path, "/"));
  if (!options_.server_name.empty()) {
    connect_to_.Add(absl::StrCat("::", address));
    headers_.Add(absl::StrCat("Host: ", address));
    easy_.Set(CURLOPT_CONNECT_TO, connect_to_);
  }
  headers_.Add("Accept: application/json");
  if (!options_.bearer_token.empty()) {
    headers_.Add(absl::StrCat("Authorization: Bearer ", options_.bearer_token));
  }
  easy_.Set(CURLOPT_HTTPHEADER, headers_);
  easy_.SetTls(options_.identity);
  easy_.Set(CURLOPT_ACCEPT_ENCODING, "");  // all that libcurl can decompress
  easy_.Set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(options_.timeout)));
  easy_.Set(CURLOPT_USERAGENT, "keda-gpu-scaler");
  easy_.Set(CURLOPT_ERRORBUFFER, detail_);
  easy_.Set(CURLOPT_WRITEFUNCTION, &HttpClient::OnBody);
  easy_.Set(CURLOPT_WRITEDATA, this);
  return easy_.status();
}

void HttpClient::Cancel() {
  if (!in_flight_) return;
  Curl().multi_remove_handle(all_.get(), easy_.get());
  in_flight_ = false;
}

void HttpClient::Start(const std::string& path) {
  Cancel();
  body_.clear();
  is_too_large_ = false;
  detail_[0] = '\0';
  easy_.Set(CURLOPT_URL, absl::StrCat(url_, path));
  Curl().multi_add_handle(all_.get(), easy_.get());
  in_flight_ = true;
}

std::optional<absl::StatusOr<HttpAnswer>> HttpClient::Wait(absl::Duration timeout,
                                                           std::span<const int> descriptors) {
  std::vector<curl_waitfd> others;
  for (const int descriptor : descriptors) {
    others.push_back({.fd = descriptor, .events = CURL_WAIT_POLLIN, .revents = 0});
  }
  int running = 0;
  Curl().multi_perform(all_.get(), &running);
  if (!in_flight_ || running > 0) {
    Curl().multi_poll(all_.get(), others.data(), static_cast<unsigned>(others.size()),
                      MillisecondsForPoll(timeout), nullptr);
    Curl().multi_perform(all_.get(), &running);
  }
  int left = 0;
  while (const CURLMsg* const message = Curl().multi_info_read(all_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message is freed with the handle
    Cancel();
    return Result(code);
  }
  return std::nullopt;
}

absl::StatusOr<HttpAnswer> HttpClient::Get(const std::string& path) {
  Start(path);
  while (true) {
    auto answer = Wait(options_.timeout);
    if (answer) return *std::move(answer);
  }
}

absl::StatusOr<HttpAnswer> HttpClient::Result(CURLcode code) {
  if (code == CURLE_OK) {
    return HttpAnswer{.status = static_cast<int>(easy_.Info(CURLINFO_RESPONSE_CODE, 0L)),
                      .body = std::move(body_)};
  }
  const auto os_error = static_cast<int>(easy_.Info(CURLINFO_OS_ERRNO, 0L));
  const absl::Status fault =
      is_too_large_ ? absl::ResourceExhaustedError(absl::StrCat("the answer is larger than ",
                                                                options_.max_bytes >> 20, " MiB"))
                    : TransferFault(code, os_error, detail_);
  return absl::Status(fault.code(), absl::StrCat(server(), ": ", fault.message()));
}

size_t HttpClient::OnBody(char* bytes, size_t one, size_t count, void* client) {
  auto& self = *static_cast<HttpClient*>(client);
  const size_t size = one * count;
  self.is_too_large_ = self.body_.size() + size > self.options_.max_bytes;
  if (self.is_too_large_) return 0;  // fewer than received: libcurl aborts the transfer
  self.body_.append(bytes, size);
  return size;
}

}  // namespace gpuscaler

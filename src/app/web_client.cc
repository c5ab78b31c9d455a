#include "app/web_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"
#include "base/poll_timeout.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "page/cidr_block.h"
#include "page/scrape_fault.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kReplyTimeout = absl::Seconds(10);
constexpr size_t kLargestReply = size_t{64} << 20;  // a fleet of 40,000 GPUs has some MiB
constexpr absl::string_view kHowToReachIt =
    "to reach a scaler in a cluster, run: kubectl -n gpu-scaler port-forward "
    "deployment/keda-gpu-scaler 8082";

// Returns "" for an empty path.
absl::StatusOr<std::string> TextOfFile(const std::string& path) {
  return path.empty() ? "" : ReadFileText(path);
}

bool IsLoopback(const std::string& host) {
  const bool is_address = ParseIpAddress(host).has_value();  // no name such as 127.example.com
  return host == "localhost" || host == "::1" || (is_address && absl::StartsWith(host, "127."));
}

// Returns the server's description of an error, or "" if it sent none.
std::string ErrorOfBody(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const bool has_error = json.is_object() && json.contains("error") && json["error"].is_string();
  return has_error ? json["error"].get<std::string>() : "";
}

absl::StatusCode CodeOfHttpStatus(long http_status) {
  switch (http_status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
    case 403:
      return absl::StatusCode::kUnauthenticated;
    case 404:
      return absl::StatusCode::kNotFound;
    case 410:
      return absl::StatusCode::kOutOfRange;
    default:
      return http_status >= 500 ? absl::StatusCode::kUnavailable
                                : absl::StatusCode::kFailedPrecondition;
  }
}

}  // namespace

std::vector<Flag> WebClientFlags(WebClientOptions* client) {
  return {
      TextFlag("server", "URL",
               "Web address of the aggregator or standalone scaler, its --web-port.",
               &client->server),
      TextFlag("tls-ca", "FILE",
               "CA of the server's certificate, PEM; without it the system's authorities.",
               &client->ca),
      TextFlag("tls-cert", "FILE", "Certificate of this client, PEM.", &client->cert),
      TextFlag("tls-key", "FILE", "Private key of --tls-cert, PEM.", &client->key),
      TextFlag("tls-server-name", "NAME",
               "Name in the server's certificate, where it is not the address's.",
               &client->server_name),
      TextFlag("token-file", "FILE", "Bearer token, sent with each request.", &client->token_file)};
}

std::string UrlEscaped(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_unreserved =
        absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_unreserved) {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

absl::StatusOr<std::unique_ptr<WebClient>> WebClient::Open(const WebClientOptions& options) {
  absl::StatusOr<HttpEndpoint> server = ParseHttpEndpoint(options.server);
  if (!server.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --server=", options.server, ": ", server.status().message()));
  }
  if (!options.token_file.empty() && !server->tls && !IsLoopback(server->host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --token-file: ", options.server,
                     " would get the token in plain text; use https, or kubectl port-forward"));
  }
  std::unique_ptr<WebClient> client(new WebClient(options, *std::move(server)));
  RETURN_IF_ERROR(client->SetUp(options));
  return client;
}

WebClient::WebClient(const WebClientOptions& options, HttpEndpoint server)
    : server_(std::move(server)), name_(options.server) {
  if (easy_.status().ok()) all_.reset(Curl().multi_init());
}

WebClient::~WebClient() { Cancel(); }

absl::Status WebClient::SetUp(const WebClientOptions& options) {
  RETURN_IF_ERROR(easy_.status());
  ASSIGN_OR_RETURN(ca_, TextOfFile(options.ca));
  ASSIGN_OR_RETURN(cert_, TextOfFile(options.cert));
  ASSIGN_OR_RETURN(key_, TextOfFile(options.key));
  ASSIGN_OR_RETURN(const std::string token_text, TextOfFile(options.token_file));
  const absl::string_view token = absl::StripAsciiWhitespace(token_text);
  if (!std::ranges::all_of(token, absl::ascii_isgraph)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.token_file, ": a token has neither spaces nor control characters"));
  }
  const int port = server_.PortOfScheme();
  const std::string address = HostAndPort(server_.host, port);
  const std::string host = options.server_name.empty() ? server_.host : options.server_name;
  url_ = absl::StrCat(server_.tls ? "https://" : "http://", HostAndPort(host, port),
                      absl::StripSuffix(server_.path, "/"));
  if (!options.server_name.empty()) {
    connect_to_.Add(absl::StrCat("::", address));
    headers_.Add(absl::StrCat("Host: ", address));
    easy_.Set(CURLOPT_CONNECT_TO, connect_to_);
  }
  headers_.Add("Accept: application/json");
  if (!token.empty()) headers_.Add(absl::StrCat("Authorization: Bearer ", token));
  easy_.Set(CURLOPT_HTTPHEADER, headers_);
  easy_.SetBlob(CURLOPT_CAINFO_BLOB, ca_);
  easy_.SetBlob(CURLOPT_SSLCERT_BLOB, cert_);
  easy_.SetBlob(CURLOPT_SSLKEY_BLOB, key_);
  easy_.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy_.Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  easy_.Set(CURLOPT_FOLLOWLOCATION, 0L);
  easy_.Set(CURLOPT_PROXY, "");
  easy_.Set(CURLOPT_ACCEPT_ENCODING, "");  // all that libcurl can decompress
  easy_.Set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(kReplyTimeout)));
  easy_.Set(CURLOPT_NOSIGNAL, 1L);
  easy_.Set(CURLOPT_USERAGENT, "keda-gpu-scaler");
  easy_.Set(CURLOPT_ERRORBUFFER, detail_);
  easy_.Set(CURLOPT_WRITEFUNCTION, &WebClient::OnBody);
  easy_.Set(CURLOPT_WRITEDATA, this);
  return easy_.status();
}

void WebClient::Cancel() {
  if (!in_flight_) return;
  Curl().multi_remove_handle(all_.get(), easy_.get());
  in_flight_ = false;
}

void WebClient::Start(const std::string& path) {
  Cancel();
  body_.clear();
  detail_[0] = '\0';
  easy_.Set(CURLOPT_URL, absl::StrCat(url_, path));
  Curl().multi_add_handle(all_.get(), easy_.get());
  in_flight_ = true;
}

std::optional<absl::StatusOr<std::string>> WebClient::Wait(absl::Duration timeout,
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

absl::StatusOr<std::string> WebClient::Get(const std::string& path) {
  Start(path);
  while (true) {
    auto reply = Wait(kReplyTimeout);
    if (reply) return *std::move(reply);
  }
}

absl::StatusOr<std::string> WebClient::Result(CURLcode code) {
  if (code != CURLE_OK) {
    const auto os_error = static_cast<int>(easy_.Info(CURLINFO_OS_ERRNO, 0L));
    const absl::Status fault = TransferFault(code, os_error, detail_);
    const bool is_unreachable = absl::IsUnavailable(fault);
    return absl::Status(fault.code(),
                        absl::StrCat(name_, ": ", fault.message(), is_unreachable ? "; " : "",
                                     is_unreachable ? kHowToReachIt : ""));
  }
  const long http_status = easy_.Info(CURLINFO_RESPONSE_CODE, 0L);
  if (http_status == 200) return std::move(body_);
  std::string error = ErrorOfBody(body_);
  if (error.empty()) {
    error = absl::StrCat(name_, ": HTTP ", http_status,
                         ": is this the --web-port of a keda-gpu-scaler?");
  }
  if (http_status == 401)
    absl::StrAppend(&error, "; use --token-file, or --tls-cert and --tls-key");
  return absl::Status(CodeOfHttpStatus(http_status), error);
}

size_t WebClient::OnBody(char* bytes, size_t one, size_t count, void* client) {
  std::string& body = static_cast<WebClient*>(client)->body_;
  const size_t size = one * count;
  if (body.size() + size > kLargestReply) return 0;  // libcurl then aborts the transfer
  body.append(bytes, size);
  return size;
}

}  // namespace gpuscaler

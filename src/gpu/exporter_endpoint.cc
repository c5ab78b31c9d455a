#include "gpu/exporter_endpoint.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/mutex.h"
#include "base/resolve.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// The result of a fetch in progress.
struct Arrival {
  Mutex mutex;
  CondVar arrived;
  std::optional<absl::StatusOr<Page>> page ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<std::string> Secret(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileText(path));
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace

absl::StatusOr<HttpEndpoint> ParseExporterUrl(absl::string_view url, int default_port) {
  const absl::string_view host = url.substr(0, url.find('/', url.find("//") + 2));
  if (absl::StrContains(host, '@')) {
    return absl::InvalidArgumentError(
        "a user name or password does not belong into a URL: --gpu-source-credentials names a "
        "file with them");
  }
  ASSIGN_OR_RETURN(HttpEndpoint endpoint, ParseHttpEndpoint(url));
  endpoint.port = endpoint.PortOr(default_port);
  if (endpoint.path.empty() || endpoint.path == "/") endpoint.path = "/metrics";
  return endpoint;
}

ExporterEndpoint::ExporterEndpoint(HttpEndpoint endpoint, ExporterAccess access)
    : endpoint_(std::move(endpoint)), access_(std::move(access)), fetcher_("exporter") {}

absl::StatusOr<Page> ExporterEndpoint::Get() {
  ASSIGN_OR_RETURN(const std::vector<ScrapeRequest> requests, Requests());
  absl::StatusOr<Page> page = absl::UnavailableError("its name has no address");
  for (const ScrapeRequest& request : requests) {
    page = Fetch(request);
    if (page.ok()) break;
  }
  return page;
}

absl::StatusOr<std::vector<ScrapeRequest>> ExporterEndpoint::Requests() const {
  ScrapeRequest request = {
      .server = {.host = endpoint_.host, .port = endpoint_.PortOr(0), .tls = endpoint_.tls},
      .path = endpoint_.path};
  if (!access_.ca_file.empty()) {
    ASSIGN_OR_RETURN(request.server.identity.ca, ReadFileText(access_.ca_file));
  }
  if (!access_.credentials_file.empty()) {
    ASSIGN_OR_RETURN(std::string secret, Secret(access_.credentials_file));
    (absl::StrContains(secret, ':') ? request.login : request.bearer_token) = std::move(secret);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> addresses, AddressesOf(endpoint_.host));
  std::vector<ScrapeRequest> requests;
  int of_ipv4 = 0;
  for (const std::string& text : addresses) {
    const std::optional<IpAddress> address = ParseIpAddress(text);
    if (!address.has_value()) continue;
    request.server.address = *address;
    of_ipv4 += IsIpv4(*address) ? 1 : 0;
    requests.push_back(request);
  }
  const auto of_ipv6 = static_cast<int>(requests.size()) - of_ipv4;
  if (of_ipv4 <= 1 && of_ipv6 <= 1) return requests;
  return absl::FailedPreconditionError(
      absl::StrCat(endpoint_.host, " has ", requests.size(),
                   " addresses: name the exporter of this node alone, by the node's own address "
                   "or by a Service with internalTrafficPolicy Local"));
}

absl::StatusOr<Page> ExporterEndpoint::Fetch(const ScrapeRequest& request) {
  const auto arrival = std::make_shared<Arrival>();
  fetcher_.Fetch(request, [arrival](absl::StatusOr<Page> page) {
    MutexLock lock(arrival->mutex);
    arrival->page = std::move(page);
    arrival->arrived.NotifyAll();
  });
  MutexLock lock(arrival->mutex);
  while (!arrival->page.has_value()) arrival->arrived.Wait(arrival->mutex);
  return *std::move(arrival->page);
}

}  // namespace gpuscaler

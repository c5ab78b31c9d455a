#include "signal/source_locator.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "signal/source_place.h"

namespace gpuscaler {
namespace {

const char* SchemeOf(const SignalSource& source, bool tls) {
  if (std::holds_alternative<RedisQueue>(source.target)) return tls ? "rediss" : "redis";
  return tls ? "https" : "http";
}

}  // namespace

ServerAddress LocatedSource::ServerAt(const IpAddress& address) const {
  return {.host = endpoint.host,
          .address = address,
          .port = port,
          .tls = endpoint.tls,
          .identity = credentials.identity};
}

ScrapeRequest LocatedSource::RequestTo(const IpAddress& address) const {
  return {
      .server = ServerAt(address), .path = endpoint.path, .bearer_token = credentials.bearer_token};
}

SourceLocator::SourceLocator(const LocatorOptions& options, std::function<void()> changed)
    : rules_(options.rules),
      credentials_(options.credential_folder, options.rules.cluster_domain()),
      resolver_(rules_, std::move(changed), options.dns) {}

void SourceLocator::SetSources(const std::vector<SignalSource>& sources) {
  files_.clear();
  std::set<EndpointHost> hosts;
  for (const SignalSource& source : sources) {
    const auto endpoint = EndpointOf(source);
    if (!endpoint.ok()) continue;
    hosts.insert({.namespace_name = source.namespace_name, .host = endpoint->host});
  }
  resolver_.SetHosts(hosts);
}

absl::StatusOr<LocatedSource> SourceLocator::Locate(const SignalSource& source) {
  LocatedSource located;
  ASSIGN_OR_RETURN(located.endpoint, EndpointOf(source));
  const std::string& host = located.endpoint.host;
  located.port = PortOf(source, located.endpoint);
  ASSIGN_OR_RETURN(located.addresses,
                   resolver_.Of({.namespace_name = source.namespace_name, .host = host}));
  // Engines may be scaled to zero; a metrics endpoint or a queue without an address is an error.
  if (located.addresses.empty() && !std::holds_alternative<EngineEndpoint>(source.target)) {
    return absl::UnavailableError(absl::StrCat(host, " has no address: no pod is behind it"));
  }
  ASSIGN_OR_RETURN(located.credentials,
                   CredentialsOf(source, {.scheme = SchemeOf(source, located.endpoint.tls),
                                          .host = host,
                                          .port = located.port}));
  return located;
}

absl::StatusOr<AliasCredentials> SourceLocator::CredentialsOf(const SignalSource& source,
                                                              EndpointOrigin to) {
  const EndpointCredentials& own = source.credentials;
  if (own.alias.empty()) {
    return AliasCredentials{.username = own.username,
                            .password = own.password,
                            .bearer_token = own.bearer_token,
                            .identity = {.ca = own.ca_pem}};
  }
  ASSIGN_OR_RETURN(to.host, rules_.NameToResolve(to.host, source.namespace_name));
  auto read = files_.find(own.alias);
  if (read == files_.end()) {
    read = files_.emplace(own.alias, credentials_.Read(own.alias)).first;
  }
  return credentials_.CheckedCredentials(own.alias, read->second, source.namespace_name, to);
}

}  // namespace gpuscaler

// Locates sources: resolves and checks their host names and looks up their credentials.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/signal_source.h"
#include "page/cidr_block.h"
#include "page/credential_folder.h"
#include "page/endpoint_addresses.h"
#include "page/endpoint_rules.h"
#include "page/http_endpoint.h"
#include "page/scrape_request.h"

namespace gpuscaler {

struct LocatedSource {
  HttpEndpoint endpoint;
  int port = 0;
  std::vector<IpAddress> addresses;  // allowed by the rules; empty: no engine runs
  AliasCredentials credentials;

  ServerAddress ServerAt(const IpAddress& address) const;
  ScrapeRequest RequestTo(const IpAddress& address) const;
};

struct LocatorOptions {
  EndpointRules rules{AllowedEndpoints()};
  std::string credential_folder;  // CredentialFolder
  EndpointAddresses::Options dns;
};

// Not thread-safe. Never waits for DNS, but for the disk.
class SourceLocator {
 public:
  // `changed` is called, on a thread of this object, when the address of a source may have changed.
  SourceLocator(const LocatorOptions& options, std::function<void()> changed);

  // Sets the sources for which Locate() may be called. Starts to resolve their names; re-reads each
  // secret once, on its next use.
  void SetSources(const std::vector<SignalSource>& sources);

  // Returns where and with which credentials to read a source, which must be one of SetSources().
  // Not for discovered engines. Returns UNAVAILABLE if the host name is not resolved yet, or if
  // that of a metrics endpoint or queue has no address. An engine endpoint without an address is
  // scaled to zero: OK, and `addresses` is empty. Returns the errors of EndpointRules and
  // CredentialFolder.
  absl::StatusOr<LocatedSource> Locate(const SignalSource& source);

 private:
  absl::StatusOr<AliasCredentials> CredentialsOf(const SignalSource& source, EndpointOrigin to);

  const EndpointRules rules_;
  const CredentialFolder credentials_;
  // Credential files by alias, read since the last SetSources().
  std::map<std::string, absl::StatusOr<AliasFiles>> files_;
  EndpointAddresses resolver_;
};

}  // namespace gpuscaler

// Locates sources: resolves and checks their host names and looks up their credentials.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "endpoint/credential_folder.h"
#include "endpoint/endpoint_addresses.h"
#include "endpoint/endpoint_rules.h"
#include "model/signal_source.h"
#include "page/http_endpoint.h"
#include "page/ip_block.h"
#include "page/scrape_request.h"

namespace gpuscaler {

struct LocatedSource {
  HttpEndpoint endpoint;
  int port = 0;
  std::vector<IpAddress> addresses;  // allowed by the rules; empty: no engine runs
  AliasCredentials credentials;

  ScrapeRequest RequestTo(const IpAddress& address) const;
};

struct LocatorOptions {
  EndpointRules rules{AllowedEndpoints()};
  std::string credential_folder;  // CredentialFolder
  EndpointAddresses::Options addresses;
};

// Thread-safe; never blocks on DNS.
class SourceLocator {
 public:
  // `changed` is called, on a thread of this object, when the address of a source may have changed.
  SourceLocator(const LocatorOptions& options, std::function<void()> changed);

  // Sets the sources for which Locate() may be called. Starts to resolve their names; re-reads each
  // secret once, on its next use.
  void SetSources(const std::vector<SignalSource>& sources);

  // Locates engines at a name, a metrics endpoint or a queue. UNAVAILABLE: the name is not resolved
  // yet, or resolves to no address (an error only for metrics endpoints and queues). Other errors
  // are those of EndpointRules and CredentialFolder.
  absl::StatusOr<LocatedSource> Locate(const SignalSource& source) const;

 private:
  absl::StatusOr<AliasCredentials> CredentialsOf(const SignalSource& source,
                                                 EndpointOrigin to) const;

  const EndpointRules rules_;
  const CredentialFolder credentials_;
  mutable Mutex mutex_;
  // Key: alias. Read since the last SetSources().
  mutable std::map<std::string, absl::StatusOr<AliasFiles>> files_ ABSL_GUARDED_BY(mutex_);
  EndpointAddresses addresses_;
};

}  // namespace gpuscaler

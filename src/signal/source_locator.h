// Where sources are now, and what opens them: names resolved and evaluated, secrets looked up.
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
  std::vector<IpAddress> addresses;  // that the rules allow; none: no engine runs
  AliasCredentials credentials;

  ScrapeRequest RequestTo(const IpAddress& address) const;
};

struct LocatorOptions {
  EndpointRules rules{AllowedEndpoints()};
  std::string credential_folder;  // CredentialFolder
  EndpointAddresses::Options addresses;
};

// Thread-safe; waits for nobody.
class SourceLocator {
 public:
  // `changed` is called when a source may be elsewhere than before, on a thread of this.
  SourceLocator(const LocatorOptions& options, std::function<void()> changed);

  // Those that Locate() is asked for from now on: their names are resolved, and their secrets read
  // as they are now, once each.
  void Want(const std::vector<SignalSource>& sources);

  // Of engines at a name, a page or a queue. UNAVAILABLE: its name is not resolved, or a page's or
  // a queue's has no address. Otherwise as EndpointRules and CredentialFolder say.
  absl::StatusOr<LocatedSource> Locate(const SignalSource& source) const;

 private:
  absl::StatusOr<AliasCredentials> CredentialsOf(const SignalSource& source,
                                                 EndpointOrigin to) const;

  const EndpointRules rules_;
  const CredentialFolder credentials_;
  mutable Mutex mutex_;
  // By alias, since the newest Want().
  mutable std::map<std::string, absl::StatusOr<AliasFiles>> files_ ABSL_GUARDED_BY(mutex_);
  EndpointAddresses addresses_;
};

}  // namespace gpuscaler

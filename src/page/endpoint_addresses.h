// Addresses of the hosts that ScaledObjects name: resolved periodically, and checked by the rules
// before use.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/resolve.h"
#include "page/cidr_block.h"
#include "page/endpoint_rules.h"

namespace gpuscaler {

// A host name as a ScaledObject of that namespace writes it.
struct EndpointHost {
  std::string namespace_name;
  std::string host;

  friend auto operator<=>(const EndpointHost&, const EndpointHost&) = default;
};

// Returns each address once, of one family: IPv4 if there is any. A pod of a dual-stack cluster has
// an address of each family and would count twice. A host without addresses has none.
// PERMISSION_DENIED: the rules forbid one of the addresses, so the others would be incomplete.
absl::StatusOr<std::vector<IpAddress>> CheckedAddresses(const EndpointRules& rules,
                                                        const std::vector<std::string>& addresses);

// Resolves host names on its own threads: Of() never waits for DNS. A name without a DNS answer
// delays other names only if kLookups such names, of several namespaces, are being resolved.
// Thread-safe.
class EndpointAddresses {
 public:
  using Resolver = std::function<absl::StatusOr<ResolvedName>(const std::string& name)>;
  using Answer = absl::StatusOr<std::vector<IpAddress>>;

  static constexpr int kLookups = 4;             // names being resolved at once
  static constexpr int kLookupsOfNamespace = 2;  // the limit of one namespace

  struct Options {
    absl::Duration interval = absl::Seconds(10);  // CoreDNS TTLs are 5 s to 30 s
    absl::Duration retry = absl::Seconds(2);      // RetryPause()
    Resolver resolver = ResolveName;
  };

  // Exponential backoff from `first`, one minute at most, after that many failures in a row.
  static absl::Duration RetryPause(int failures, absl::Duration first);

  // `changed` is called, on a thread of this object, when the result of Of() has changed for a
  // host.
  EndpointAddresses(EndpointRules rules, std::function<void()> changed, Options options);

  // Waits for `changed` to return, but not for DNS.
  ~EndpointAddresses();
  EndpointAddresses(const EndpointAddresses&) = delete;
  EndpointAddresses& operator=(const EndpointAddresses&) = delete;

  // Sets the hosts to resolve: resolves new ones at once and forgets the others.
  void SetHosts(const std::set<EndpointHost>& hosts);

  // Returns the last DNS answer, also while DNS fails. UNAVAILABLE: DNS has never answered
  // (NotYet() during the first attempt), or the host is not in SetHosts(). PERMISSION_DENIED and
  // INVALID_ARGUMENT come from the rules.
  Answer Of(const EndpointHost& host) const;

 private:
  class Lookups;
  const std::shared_ptr<Lookups> lookups_;  // shared with each thread: a DNS call may outlive this
                                            // object
};

}  // namespace gpuscaler

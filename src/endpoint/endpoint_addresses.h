// Where the hosts are that ScaledObjects name: asked for again and again, and evaluated before
// anybody connects there.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/resolve.h"
#include "endpoint/endpoint_rules.h"
#include "page/ip_block.h"

namespace gpuscaler {

// A host as a ScaledObject of that namespace calls it.
struct EndpointHost {
  std::string namespace_name;
  std::string host;

  friend auto operator<=>(const EndpointHost&, const EndpointHost&) = default;
};

// Each once. Of one family, IPv4 where there is any: a pod of a dual-stack cluster has an address
// of each, and would count twice. A host without any has none. PERMISSION_DENIED: the rules forbid
// one of them; the others are not the whole.
absl::StatusOr<std::vector<IpAddress>> CheckedAddresses(const EndpointRules& rules,
                                                        const std::vector<std::string>& addresses);

// Asks DNS on threads of its own: who wants an address never waits for one, and names that DNS does
// not answer for hold up no other, unless there are kAsking of that kind, of several namespaces.
// Thread-safe.
class EndpointAddresses {
 public:
  using Resolver = std::function<absl::StatusOr<ResolvedName>(const std::string& name)>;
  using Answer = absl::StatusOr<std::vector<IpAddress>>;

  static constexpr int kAsking = 4;             // names at once
  static constexpr int kAskingOfNamespace = 2;  // of those

  struct Options {
    absl::Duration interval = absl::Seconds(10);  // as CoreDNS lets answers be kept: 5 s to 30 s
    absl::Duration retry = absl::Seconds(2);      // RetryPause()
    Resolver resolver = ResolveName;
  };

  // Before a name is asked for again that got no answer so many times in a row: `first`, and twice
  // as long each time, a minute at most.
  static absl::Duration RetryPause(int failures, absl::Duration first);

  // `changed` is called when Of() has something else to say of some host, on a thread of this.
  EndpointAddresses(EndpointRules rules, std::function<void()> changed, Options options);
  EndpointAddresses(EndpointRules rules, std::function<void()> changed)
      : EndpointAddresses(std::move(rules), std::move(changed), Options()) {}

  // Waits for `changed` to return, and never for DNS.
  ~EndpointAddresses();
  EndpointAddresses(const EndpointAddresses&) = delete;
  EndpointAddresses& operator=(const EndpointAddresses&) = delete;

  // The hosts that are wanted from now on: asks at once for new ones, forgets the others.
  void Want(const std::set<EndpointHost>& hosts);

  // What DNS said last: where it gives no answer, what it said before. UNAVAILABLE: it never gave
  // one (NotYet() while it is asked for the first time), or the host is not wanted.
  // PERMISSION_DENIED and INVALID_ARGUMENT are the rules'.
  Answer Of(const EndpointHost& host) const;

 private:
  class Asking;
  const std::shared_ptr<Asking> asking_;  // each thread shares it: DNS may outlive us
};

}  // namespace gpuscaler

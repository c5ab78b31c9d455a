// Which addresses a tenant's metadata may make the scaler talk to (DESIGN 6).
//
// Whoever may write a ScaledObject would otherwise have a client inside the cluster: for the
// cloud's metadata service, the scaler's own loopback, or another tenant's engine. A name is
// evaluated before it is resolved, and each address that it resolves to before it is connected to:
// a name's owner can make it resolve to anything, and to something else the next time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/ip_block.h"

namespace gpuscaler {

// --allow-endpoints: what the operator opens for all namespaces.
struct AllowedEndpoints {
  std::vector<std::string> hosts;  // lower case; "*.infra.svc" for each name that ends so
  std::vector<IpBlock> blocks;     // addresses, whatever name led there
};

// "redis.infra.svc,*.example.com,10.1.0.0/16,169.254.20.10": host names, of which the whole first
// label may be a "*", and IP addresses or blocks. Empty: none. INVALID_ARGUMENT names what is wrong
// and what is allowed.
absl::StatusOr<AllowedEndpoints> ParseAllowedEndpoints(absl::string_view text);

// --cluster-domain: lower case, as kubelets have it; hosts are compared with it so.
absl::Status CheckClusterDomain(absl::string_view text);

// Pure; may be shared among threads.
class EndpointRules {
 public:
  // `cluster_domain` as in the kubelet's clusterDomain, which the names of all Services end with.
  explicit EndpointRules(AllowedEndpoints allowed, std::string cluster_domain = "cluster.local")
      : allowed_(std::move(allowed)), cluster_domain_(std::move(cluster_domain)) {}

  const std::string& cluster_domain() const { return cluster_domain_; }

  // The name to resolve for what a ScaledObject of this namespace calls its host: one of its own
  // Services or pods (llm, llm.team-a, pod-0.llm.team-a.svc.cluster.local), always whole and with
  // the dot that ends it: no search list of the scaler's own namespace is tried. Or a host, or an
  // IP address, that the operator allows, as it is. PERMISSION_DENIED says what would be allowed;
  // INVALID_ARGUMENT: no host at all.
  absl::StatusOr<std::string> NameToResolve(absl::string_view host,
                                            absl::string_view namespace_name) const;

  // OK for an address that anybody's pods or Services may have. PERMISSION_DENIED for loopback,
  // link-local, site-local, unspecified and multicast addresses, the clouds' metadata services and
  // IPv6 addresses that embed another one, unless a block of the operator's names it; a host that
  // is allowed opens none of these. IPv4-mapped addresses and those of NAT64 (64:ff9b::/96) are
  // checked as the IPv4 address that they embed.
  absl::Status CheckAddress(const IpAddress& address) const;

  // `name` is from NameToResolve(), `canonical_name` and `addresses` are what it resolved to.
  // PERMISSION_DENIED if the name is an alias (CNAME) out of the namespace, as a Service of type
  // ExternalName is, unless the operator allows the name, its alias, or all of the addresses.
  absl::Status CheckAlias(absl::string_view name, absl::string_view namespace_name,
                          absl::string_view canonical_name,
                          const std::vector<IpAddress>& addresses) const;

 private:
  bool AllowsHost(absl::string_view host) const;
  bool AllowsAddress(const IpAddress& address) const;
  // Empty: not of the namespace.
  std::string InNamespace(absl::string_view host, absl::string_view namespace_name) const;

  AllowedEndpoints allowed_;
  std::string cluster_domain_;
};

}  // namespace gpuscaler

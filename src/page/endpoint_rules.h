// Which addresses a tenant's metadata may make the scaler connect to.
//
// Without these rules the author of a ScaledObject would have a client inside the cluster: for the
// cloud's metadata service, the scaler's own loopback, or another tenant's engine. A name is
// checked before it is resolved, and each resolved address before the connection: the name's owner
// can make it resolve to anything, and differently each time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/cidr_block.h"

namespace gpuscaler {

// --allow-endpoints: hosts and addresses that the operator opens for all namespaces.
struct AllowedEndpoints {
  std::vector<std::string> hosts;  // lower case; "*.infra.svc" matches all names with that suffix
  std::vector<CidrBlock> blocks;   // addresses, however they were resolved
};

// Parses "redis.infra.svc,*.example.com,10.1.0.0/16,169.254.20.10": host names, with an optional
// "*" as the whole first label, and IP addresses or blocks. Empty: none. INVALID_ARGUMENT names the
// fault and the allowed values.
absl::StatusOr<AllowedEndpoints> ParseAllowedEndpoints(absl::string_view text);

// --cluster-domain: must be lower case, as in the kubelet's configuration; hosts are compared with
// it in lower case.
absl::Status CheckClusterDomain(absl::string_view text);

// Immutable, so thread-safe.
class EndpointRules {
 public:
  // `cluster_domain` is the kubelet's clusterDomain, the suffix of all Service names.
  explicit EndpointRules(AllowedEndpoints allowed, std::string cluster_domain = "cluster.local")
      : allowed_(std::move(allowed)), cluster_domain_(std::move(cluster_domain)) {}

  const std::string& cluster_domain() const { return cluster_domain_; }

  // The host is in a ScaledObject of this namespace. The namespace's own Services and pods (llm,
  // llm.team-a, pod-0.llm.team-a.svc.cluster.local) become absolute names with a final dot, so that
  // no search list of the scaler's namespace applies. A host or IP address that the operator allows
  // is returned unchanged. PERMISSION_DENIED names what would be allowed; INVALID_ARGUMENT: not a
  // host.
  absl::StatusOr<std::string> NameToResolve(absl::string_view host,
                                            absl::string_view namespace_name) const;

  // Returns OK for an address that a pod or Service of any tenant may have. PERMISSION_DENIED for
  // loopback, link-local, site-local, unspecified and multicast addresses, the clouds' metadata
  // services and IPv6 addresses that embed another one, unless an IP block of the operator contains
  // it. An allowed host name opens none of these. IPv4-mapped and NAT64 addresses (64:ff9b::/96)
  // are checked as the IPv4 address that they embed.
  absl::Status CheckAddress(const IpAddress& address) const;

  // `name` is a result of NameToResolve(); `canonical_name` and `addresses` are what it resolved
  // to. PERMISSION_DENIED if the name is an alias (CNAME) out of the namespace, such as a Service
  // of type ExternalName, unless the operator allows the name, its alias, or all of the addresses.
  absl::Status CheckAlias(absl::string_view name, absl::string_view namespace_name,
                          absl::string_view canonical_name,
                          const std::vector<IpAddress>& addresses) const;

 private:
  bool AllowsHost(absl::string_view host) const;
  bool AllowsAddress(const IpAddress& address) const;
  // Returns the absolute name, or an empty string if the host is not in the namespace.
  std::string InNamespace(absl::string_view host, absl::string_view namespace_name) const;

  AllowedEndpoints allowed_;
  std::string cluster_domain_;
};

}  // namespace gpuscaler

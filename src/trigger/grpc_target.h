// Splits a scalerAddress as grpc-go does (NewClient, which KEDA calls; resolvers dns, passthrough
// and unix).
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct GrpcTarget {
  absl::string_view scheme;  // "dns" in "dns:///host:port"; empty: none
  absl::string_view host;    // without brackets; empty: none
  absl::string_view port;    // empty: none
  // True for "dns://host:port": gRPC takes host:port as the DNS server, and has nothing to connect
  // to.
  bool is_dns_server = false;
};
// Text that fits no part, such as a path, becomes part of the port. Host and port are empty for
// unix:/socket and similar schemes. A scheme that gRPC does not have is split like
// "scheme://host:port".
GrpcTarget GrpcTargetIn(absl::string_view address);

bool IsHostAndPort(const GrpcTarget& target);   // dns, passthrough or no scheme
bool IsSocketOrMesh(const GrpcTarget& target);  // another scheme of gRPC: a socket, a mesh

}  // namespace gpuscaler

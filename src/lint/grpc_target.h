// A scalerAddress, as grpc-go takes it apart (NewClient, which KEDA calls; resolvers dns,
// passthrough and unix).
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct GrpcTarget {
  absl::string_view scheme;  // "dns" of "dns:///host:port"; empty: it has none
  absl::string_view host;    // without brackets; empty: it has none
  absl::string_view port;    // empty: it has none
  // Of "dns://host:port": gRPC takes that for a server to ask, and has nothing to connect to.
  bool is_asked = false;
};
// What it has no place for, such as a path, is part of the port. Of unix:/socket and the like host
// and port are empty; of a scheme that gRPC does not know they are what they look like.
GrpcTarget GrpcTargetIn(absl::string_view address);

bool IsOfHostAndPort(const GrpcTarget& target);    // by dns, as without a scheme, or passthrough
bool IsOfSomethingElse(const GrpcTarget& target);  // as gRPC knows it: a socket, a mesh

}  // namespace gpuscaler

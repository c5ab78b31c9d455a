// Credentials for endpoints. The operator stores them; triggers name them by an alias.
//
// The folder has a folder for each alias, as Kubernetes mounts a Secret, with the files below. All
// but the first two are optional:
//
//   hosts       origins that may receive the credentials: a scheme (http, https, redis, rediss), a
//               host and, if not the scheme's, a port: "rediss://redis.infra.svc,
//               https://*.a.com:8443"
//   namespaces  namespaces of the ScaledObjects that may use the alias: "team-a, team-b", or "*"
//   username    password    Redis
//   token                   bearer token for HTTP
//   ca.crt                  CA that signs the endpoint's certificate, PEM
//   tls.crt     tls.key     client certificate, PEM
//
// Without `hosts` a tenant could have the credentials sent to his own server.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/server_address.h"

namespace gpuscaler {

// The origin (RFC 6454) of a request.
struct EndpointOrigin {
  std::string scheme;  // http, https, redis or rediss
  std::string host;    // lower case; "*.example.com" (only in `hosts`) matches all names with that
                       // suffix
  int port = 0;
};

struct AliasCredentials {  // secret: never logged
  std::string username;
  std::string password;
  std::string bearer_token;
  TlsIdentity identity;
};

// The files of one alias, all of one version: Kubernetes replaces them together.
struct AliasFiles {
  std::vector<std::string> namespaces;
  std::vector<EndpointOrigin> origins;  // entries of the file `hosts`
  AliasCredentials credentials;
};

// Thread-safe. Reads the files on each call; caches nothing.
class CredentialFolder {
 public:
  // An empty `path` means that there are no aliases. `cluster_domain` as in EndpointRules.
  CredentialFolder(std::string path, std::string cluster_domain)
      : path_(std::move(path)), cluster_domain_(std::move(cluster_domain)) {}

  // Returns what the files contain now. FAILED_PRECONDITION: the alias does not exist, or its files
  // are invalid.
  absl::StatusOr<AliasFiles> Read(absl::string_view alias) const;

  // Returns the credentials if `files`, a result of Read(), allow it. `to.host` is a result of
  // NameToResolve(). PERMISSION_DENIED: the alias may not be used by this namespace or for this
  // origin. No error reveals another alias.
  absl::StatusOr<AliasCredentials> CheckedCredentials(absl::string_view alias,
                                                      const absl::StatusOr<AliasFiles>& files,
                                                      absl::string_view namespace_name,
                                                      const EndpointOrigin& to) const;

 private:
  const std::string path_;
  const std::string cluster_domain_;
};

}  // namespace gpuscaler

// Secrets for endpoints, that the operator keeps and triggers name by an alias.
//
// A folder with one folder for each alias, as Kubernetes mounts a Secret, with files of these
// names; all but the first two may be missing:
//
//   hosts       where the secrets may be sent, with a scheme (http, https, redis, rediss) and, if
//               it is not the scheme's, a port: "rediss://redis.infra.svc, https://*.a.com:8443"
//   namespaces  whose ScaledObjects may name the alias: "team-a, team-b", or "*"
//   username    password    Redis
//   token                   bearer token of http
//   ca.crt                  who signs the endpoint's certificate, PEM
//   tls.crt     tls.key     our own certificate, PEM
//
// Without `hosts` a tenant could have them sent to a server of his own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// The origin (RFC 6454) of a request.
struct EndpointOrigin {
  std::string scheme;  // http, https, redis or rediss
  std::string host;    // lower case; "*.example.com" for each name that ends so, in `hosts` alone
  int port = 0;
};

struct AliasCredentials {  // secret: never logged
  std::string username;
  std::string password;
  std::string bearer_token;
  std::string ca_pem;
  std::string cert_pem;
  std::string key_pem;
};

// One alias's files, all of one time: Kubernetes replaces them together.
struct AliasFiles {
  std::vector<std::string> namespaces;
  std::vector<EndpointOrigin> origins;  // the entries of its file `hosts`
  AliasCredentials credentials;
};

// Thread-safe; what was read is not kept.
class CredentialFolder {
 public:
  // `path` empty: there are none. `cluster_domain` as in EndpointRules.
  CredentialFolder(std::string path, std::string cluster_domain)
      : path_(std::move(path)), cluster_domain_(std::move(cluster_domain)) {}

  // As the files are now. `to.host` as NameToResolve() gives it. PERMISSION_DENIED: the alias is
  // not for this namespace or this origin. FAILED_PRECONDITION: there is no such alias, or its
  // files cannot be used. Neither error contains anything of another alias.
  absl::StatusOr<AliasCredentials> For(absl::string_view alias, absl::string_view namespace_name,
                                       const EndpointOrigin& to) const {
    return Evaluated(alias, Read(alias), namespace_name, to);
  }

  // The same in two steps, for who asks for many: as the files are now, and for whom they are.
  absl::StatusOr<AliasFiles> Read(absl::string_view alias) const;
  absl::StatusOr<AliasCredentials> Evaluated(absl::string_view alias,
                                             const absl::StatusOr<AliasFiles>& files,
                                             absl::string_view namespace_name,
                                             const EndpointOrigin& to) const;

 private:
  const std::string path_;
  const std::string cluster_domain_;
};

}  // namespace gpuscaler

#include "rpc/reloading_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>
#include <utility>

namespace gpuscaler {
namespace {

grpc_ssl_server_certificate_config* ConfigOf(const TlsPems& pems) {
  const grpc_ssl_pem_key_cert_pair pair = {pems.key.c_str(), pems.cert.c_str()};
  // gRPC aborts without any: where no client is asked for a certificate, nobody looks at these.
  const std::string& roots = pems.client_ca.empty() ? pems.cert : pems.client_ca;
  return grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
}

// gRPC asks at each handshake.
grpc_ssl_certificate_config_reload_status Fetch(void* pair,
                                                grpc_ssl_server_certificate_config** config) {
  const std::optional<TlsPems> pems = static_cast<TlsPair*>(pair)->TakeNew();
  if (!pems) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  *config = ConfigOf(*pems);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

// gRPC's C++ interface can watch files, but takes a certificate without its key and fails every
// handshake from then on; this way of its C interface gets only what we have checked. The server
// does not keep this object, only what AddPortToServer() makes of it.
class Credentials : public grpc::ServerCredentials {
 public:
  explicit Credentials(TlsPair& pair) {
    const auto clients = pair.WantsClientCertificates()
                             ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                             : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(clients, &Fetch, &pair));
  }
  ~Credentials() override { grpc_server_credentials_release(credentials_); }

  // Not offered: nobody in this project asks for it.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* credentials_;
};

}  // namespace

bool TlsPair::Replace(TlsPems pems) {
  MutexLock lock(mutex_);
  if (pems == pems_) return false;
  pems_ = std::move(pems);
  taken_ = false;
  return true;
}

bool TlsPair::WantsClientCertificates() const {
  MutexLock lock(mutex_);
  return !pems_.client_ca.empty();
}

std::optional<TlsPems> TlsPair::TakeNew() {
  MutexLock lock(mutex_);
  if (taken_) return std::nullopt;
  taken_ = true;
  return pems_;
}

std::shared_ptr<grpc::ServerCredentials> ReloadingCredentials(TlsPair& pair) {
  return std::make_shared<Credentials>(pair);
}

}  // namespace gpuscaler

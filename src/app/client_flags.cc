#include "app/client_flags.h"

#include <utility>

#include "app/scaler_address.h"
#include "base/status_macros.h"

namespace gpuscaler {

std::vector<Flag> ClientFlags(ScalerClientOptions* client) {
  return {SwitchFlag("tls", "Use TLS, with the system's authorities.", &client->tls),
          TextFlag("tls-ca", "FILE", "CA of the scaler's certificate, PEM; implies --tls.",
                   &client->ca),
          TextFlag("tls-cert", "FILE", "Certificate of this client, PEM; implies --tls.",
                   &client->cert),
          TextFlag("tls-key", "FILE", "Private key of --tls-cert, PEM.", &client->key),
          TextFlag("tls-server-name", "NAME",
                   "Name in the scaler's certificate, where it is not the address's.",
                   &client->server_name)};
}

absl::StatusOr<std::unique_ptr<ScalerClient>> OpenClient(const std::string& address,
                                                         ScalerClientOptions client) {
  ASSIGN_OR_RETURN(client.address, ScalerAddress(address));
  client.tls = client.tls || !client.ca.empty() || !client.cert.empty();
  return ScalerClient::Open(client);
}

}  // namespace gpuscaler

// Certificates and keys, from PEM texts into OpenSSL's contexts.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Sets the certificate that connections of the context present. INVALID_ARGUMENT: a text cannot be
// used.
absl::Status UseCertificate(SSL_CTX* context, const std::string& certificate_chain,
                            const std::string& private_key);

// Trusts certificates of these authorities, also of an intermediate one without its root.
// INVALID_ARGUMENT: no authority can be read. The message
// names `what`, such as "CA".
absl::Status TrustAuthorities(SSL_CTX* context, const std::string& authorities,
                              absl::string_view what);

}  // namespace gpuscaler

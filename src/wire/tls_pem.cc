#include "wire/tls_pem.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"
#include "wire/pem.h"

namespace gpuscaler {
namespace {

absl::Status UnusableText(absl::string_view what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("the ", what, " cannot be used"));
}

}  // namespace

absl::Status UseCertificate(SSL_CTX* context, const std::string& certificate_chain,
                            const std::string& private_key) {
  const auto chain = TextOf(certificate_chain);
  const auto leaf = NextCertificate(chain.get());
  if (leaf == nullptr || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return UnusableText("certificate");
  }
  while (const auto above = NextCertificate(chain.get())) {
    SSL_CTX_add1_chain_cert(context, above.get());
  }
  const auto key = PrivateKeyOf(private_key);
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return UnusableText("private key");
  }
  ERR_clear_error();
  return absl::OkStatus();
}

absl::Status TrustAuthorities(SSL_CTX* context, const std::string& authorities,
                              absl::string_view what) {
  const auto text = TextOf(authorities);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  bool has_any = false;
  while (const auto authority = NextCertificate(text.get())) {
    has_any = X509_STORE_add_cert(store, authority.get()) == 1 || has_any;
  }
  if (!has_any) return UnusableText(what);
  // cert-manager's ca.crt has only an intermediate authority if the issuer's secret has no root.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return absl::OkStatus();
}

}  // namespace gpuscaler

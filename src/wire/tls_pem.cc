#include "wire/tls_pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

std::unique_ptr<BIO, Free> TextOf(const std::string& pem) {
  return std::unique_ptr<BIO, Free>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A key with a passphrase is unusable here; without this OpenSSL asks for it on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

std::unique_ptr<X509, Free> NextCertificate(BIO* text) {
  return std::unique_ptr<X509, Free>(PEM_read_bio_X509(text, nullptr, NoPassphrase, nullptr));
}

absl::Status Unusable(absl::string_view what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("the ", what, " cannot be used"));
}

}  // namespace

absl::Status UseCertificate(SSL_CTX* context, const std::string& certificate_chain,
                            const std::string& private_key) {
  const auto chain = TextOf(certificate_chain);
  const auto leaf = NextCertificate(chain.get());
  if (leaf == nullptr || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return Unusable("certificate");
  }
  while (const auto above = NextCertificate(chain.get())) {
    SSL_CTX_add1_chain_cert(context, above.get());
  }
  const auto key_text = TextOf(private_key);
  const std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Unusable("private key");
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
  if (!has_any) return Unusable(what);
  ERR_clear_error();
  return absl::OkStatus();
}

}  // namespace gpuscaler

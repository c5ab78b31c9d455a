// Certificates and keys in PEM texts.
#pragma once

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace gpuscaler {

struct FreePem {
  void operator()(BIO* text) const { BIO_free(text); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

using PemText = std::unique_ptr<BIO, FreePem>;

// `pem` outlives what is returned.
inline PemText TextOf(const std::string& pem) {
  return PemText(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A key with a passphrase is unusable here; without this OpenSSL asks for it on the terminal.
inline int NoPassphrase(char*, int, int, void*) { return 0; }

// Null: there is no more, or OpenSSL's queue of errors has the reason.
inline std::unique_ptr<X509, FreePem> NextCertificate(BIO* text) {
  return std::unique_ptr<X509, FreePem>(PEM_read_bio_X509(text, nullptr, NoPassphrase, nullptr));
}

inline std::unique_ptr<EVP_PKEY, FreePem> PrivateKeyOf(const std::string& pem) {
  return std::unique_ptr<EVP_PKEY, FreePem>(
      PEM_read_bio_PrivateKey(TextOf(pem).get(), nullptr, NoPassphrase, nullptr));
}

}  // namespace gpuscaler

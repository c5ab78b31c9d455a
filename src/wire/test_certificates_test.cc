#include "wire/test_certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

std::shared_ptr<BIO> Readable(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

std::shared_ptr<X509> Cert(const std::string& pem) {
  return {PEM_read_bio_X509(Readable(pem).get(), nullptr, nullptr, nullptr), X509_free};
}

// X509_V_OK, or why OpenSSL refuses `cert` from `ca`.
int Verify(const std::string& cert_pem, const std::string& ca_pem) {
  const std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  X509_STORE_add_cert(store.get(), Cert(ca_pem).get());
  const std::shared_ptr<X509_STORE_CTX> context(X509_STORE_CTX_new(), X509_STORE_CTX_free);
  const std::shared_ptr<X509> cert = Cert(cert_pem);
  X509_STORE_CTX_init(context.get(), store.get(), cert.get(), nullptr);
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

TEST(TestCertificates, IssuedCertificateIsTrustedThroughItsOwnCaOnly) {
  const TestCa ca("ours");
  const TestCertificate pair = ca.Issue("server");
  EXPECT_EQ(Verify(pair.cert, ca.pem()), X509_V_OK);
  EXPECT_NE(Verify(pair.cert, TestCa("theirs").pem()), X509_V_OK);
}

TEST(TestCertificates, NegativeLifetimeHasExpired) {
  const TestCa ca("ours");
  EXPECT_EQ(Verify(ca.Issue("server", -absl::Hours(1)).cert, ca.pem()),
            X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST(TestCertificates, KeyBelongsToItsCertificateAndNamesAreLocal) {
  const TestCertificate pair = TestCa("ours").Issue("server");
  const std::shared_ptr<X509> cert = Cert(pair.cert);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Readable(pair.key).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  EXPECT_EQ(X509_check_private_key(cert.get(), key.get()), 1);
  EXPECT_EQ(X509_check_host(cert.get(), "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(cert.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(cert.get(), "::1", 0), 1);
}

}  // namespace
}  // namespace gpuscaler

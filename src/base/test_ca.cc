#include "base/test_ca.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <functional>

namespace gpuscaler {
namespace {

struct Extension {
  int nid;
  const char* value;
};

std::shared_ptr<EVP_PKEY> NewKey() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

void AddExtension(X509* cert, const Extension& extension) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, cert, cert, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value);
  X509_add_ext(cert, made, -1);
  X509_EXTENSION_free(made);
}

// Unsigned, without an issuer.
std::shared_ptr<X509> NewCert(const std::string& common_name, EVP_PKEY* key, absl::Duration ends,
                              absl::Duration starts) {
  static std::atomic<long> next_serial = 1;
  std::shared_ptr<X509> cert(X509_new(), X509_free);
  X509_set_version(cert.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), next_serial++);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), static_cast<long>(absl::ToInt64Seconds(starts)));
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), static_cast<long>(absl::ToInt64Seconds(ends)));
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.data()),
                             static_cast<int>(common_name.size()), -1, 0);
  X509_set_pubkey(cert.get(), key);
  return cert;
}

std::string Pem(const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  write(memory.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string CertPem(X509* cert) {
  return Pem([cert](BIO* out) { return PEM_write_bio_X509(out, cert); });
}

std::string KeyPem(EVP_PKEY* key) {
  return Pem([key](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace

TestCa::TestCa(const std::string& common_name, const TestCa* issuer)
    : key_(NewKey()), cert_(NewCert(common_name, key_.get(), absl::Hours(24), -absl::Hours(24))) {
  if (issuer == nullptr) issuer = this;
  X509_set_issuer_name(cert_.get(), X509_get_subject_name(issuer->cert_.get()));
  AddExtension(cert_.get(), {NID_basic_constraints, "critical,CA:TRUE"});
  AddExtension(cert_.get(), {NID_key_usage, "critical,keyCertSign,cRLSign"});
  X509_sign(cert_.get(), issuer->key_.get(), EVP_sha256());
  pem_ = CertPem(cert_.get());
}

TestCertificate TestCa::Issue(const std::string& common_name, absl::Duration ends,
                              absl::Duration starts) const {
  return IssueFor(NewKey().get(), common_name, ends, starts);
}

TestCertificate TestCa::IssueNamed(const std::string& dns_name) const {
  return IssueFor(NewKey().get(), "server", absl::Hours(1), -absl::Hours(24), ",DNS:" + dns_name);
}

TestCertificate TestCa::IssueWeak(const std::string& common_name) const {
  const std::shared_ptr<EVP_PKEY> key(EVP_RSA_gen(1024), EVP_PKEY_free);
  return IssueFor(key.get(), common_name, absl::Hours(1), -absl::Hours(1));
}

TestCertificate TestCa::IssueFor(EVP_PKEY* key, const std::string& common_name, absl::Duration ends,
                                 absl::Duration starts, const std::string& more_names) const {
  const std::shared_ptr<X509> cert = NewCert(common_name, key, ends, starts);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(cert_.get()));
  AddExtension(cert.get(), {NID_basic_constraints, "critical,CA:FALSE"});
  AddExtension(cert.get(), {NID_ext_key_usage, "serverAuth,clientAuth"});
  const std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1" + more_names;
  AddExtension(cert.get(), {NID_subject_alt_name, names.c_str()});
  X509_sign(cert.get(), key_.get(), EVP_sha256());
  return {.cert = CertPem(cert.get()), .key = KeyPem(key)};
}

}  // namespace gpuscaler

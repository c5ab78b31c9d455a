// Issues certificates at run time, so that no key is in the tree and no test fails on a date.
//
//   const TestCa ca("our CA");
//   const TestCertificate server = ca.Issue("server");
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace gpuscaler {

struct TestCertificate {
  std::string cert;
  std::string key;
};

class TestCa {
 public:
  // A root, or an intermediate authority with a certificate of `issuer`.
  explicit TestCa(const std::string& common_name, const TestCa* issuer = nullptr);

  const std::string& pem() const { return pem_; }

  // The certificate is for servers and clients, valid from now + `starts` until now + `ends`. Its
  // names are localhost, 127.0.0.1 and ::1.
  TestCertificate Issue(const std::string& common_name, absl::Duration ends = absl::Hours(1),
                        absl::Duration starts = -absl::Hours(24)) const;

  // Adds one DNS name to those of Issue().
  TestCertificate IssueNamed(const std::string& dns_name) const;

  // The certificate has an RSA key of 1024 bits, which current TLS libraries refuse.
  TestCertificate IssueWeak(const std::string& common_name) const;

 private:
  TestCertificate IssueFor(EVP_PKEY* key, const std::string& common_name, absl::Duration ends,
                           absl::Duration starts, const std::string& more_names = "") const;

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> cert_;
  std::string pem_;
};

}  // namespace gpuscaler

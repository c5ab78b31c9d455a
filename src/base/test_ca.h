// Certificates made on the spot: no test carries a key in the tree or fails on a date.
//
//   const TestCa ca("our CA");
//   const TestPair server = ca.Issue("server");
#pragma once

#include <openssl/x509.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace gpuscaler {

struct TestPair {
  std::string cert;
  std::string key;
};

class TestCa {
 public:
  explicit TestCa(const std::string& common_name);

  const std::string& pem() const { return pem_; }

  // For a server as well as a client; a server is localhost, 127.0.0.1 and ::1. Valid from
  // `starts` from now until `ends` from now.
  TestPair Issue(const std::string& common_name, absl::Duration ends = absl::Hours(1),
                 absl::Duration starts = -absl::Hours(24)) const;

  // As Issue(), with one more DNS name.
  TestPair IssueNamed(const std::string& dns_name) const;

  // With a key of 1024 bits, which no library of today serves with.
  TestPair IssueWeak(const std::string& common_name) const;

 private:
  TestPair IssueFor(EVP_PKEY* key, const std::string& common_name, absl::Duration ends,
                    absl::Duration starts, const std::string& more_names = "") const;

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> cert_;
  std::string pem_;
};

}  // namespace gpuscaler

// An HTTP client for tests, down to the single byte.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "wire/test_certificates.h"

namespace gpuscaler {

struct TestTls {
  std::string ca;  // that the server has to be of
  TestPair pair;   // the client's own; empty: none
};

struct TestReply {
  int status = 0;
  std::string head;  // status line and headers
  std::string body;
};

class TestHttpClient {
 public:
  // To the numeric `address`; the handshake is over when it returns.
  static absl::StatusOr<std::unique_ptr<TestHttpClient>> Open(
      int port, const TestTls* tls = nullptr, const std::string& address = "127.0.0.1");
  ~TestHttpClient();

  // False once the server has closed the connection.
  bool Send(absl::string_view bytes);

  // What comes until the server closes the connection; DEADLINE_EXCEEDED after `patience` between
  // two pieces.
  absl::StatusOr<std::string> ReadAll(absl::Duration staleness = absl::Seconds(10));

 private:
  explicit TestHttpClient(int socket) : socket_(socket) {}
  absl::Status Handshake(const TestTls& tls);

  const int socket_;
  std::shared_ptr<SSL> tls_;  // null: plain text
};

// One request on a connection of its own.
absl::StatusOr<TestReply> Ask(int port, absl::string_view method, absl::string_view path,
                              const TestTls* tls = nullptr,
                              const std::string& address = "127.0.0.1");

}  // namespace gpuscaler

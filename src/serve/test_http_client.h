// An HTTP client for tests that sends any bytes.
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
  std::string ca;        // issuer of the server's certificate
  TestCertificate pair;  // the client certificate; empty: none
  std::string groups;    // key exchange, in the names of OpenSSL; empty: its default
};

struct TestReply {
  int status = 0;
  std::string head;  // status line and headers
  std::string body;
};

class TestHttpClient {
 public:
  // Connects to the numeric `address` and completes the handshake.
  static absl::StatusOr<std::unique_ptr<TestHttpClient>> Open(
      int port, const TestTls* tls = nullptr, const std::string& address = "127.0.0.1");
  ~TestHttpClient();

  // Returns false if the server has closed the connection.
  bool Send(absl::string_view bytes);

  // Returns the next bytes, "" once the server has closed the connection, or DEADLINE_EXCEEDED if
  // none arrive for `timeout`.
  absl::StatusOr<std::string> ReadSome(absl::Duration timeout = absl::Seconds(10));

  // Returns all bytes until the server closes the connection, or DEADLINE_EXCEEDED if none arrive
  // for `timeout`.
  absl::StatusOr<std::string> ReadAll(absl::Duration timeout = absl::Seconds(10));

 private:
  explicit TestHttpClient(int socket) : socket_(socket) {}
  absl::Status Handshake(const TestTls& tls);

  const int socket_;
  std::shared_ptr<SSL> tls_;  // null: plain text
};

// Sends one request on a new connection.
absl::StatusOr<TestReply> Request(int port, absl::string_view method, absl::string_view path,
                                  const TestTls* tls = nullptr,
                                  const std::string& address = "127.0.0.1");

}  // namespace gpuscaler

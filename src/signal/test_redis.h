// Runs Debian's redis-server on loopback, for tests.
//
//   TestRedis redis({"--requirepass", "secret"});
//   redis.Do({"LPUSH", "jobs", "1", "2"});
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/test_ca.h"
#include "base/test_folder.h"
#include "signal/redis_codec.h"

namespace gpuscaler {

// Reserves a free port of `address` for a server that starts and stops. Between these it refuses
// connections.
class ReservedPort {
 public:
  explicit ReservedPort(const std::string& address);
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  int number() const { return number_; }

 private:
  const int socket_;
  int number_ = 0;
};

class TestRedis {
 public:
  // Starts on a free port of `address` with additional options, and serves when this returns.
  // Aborts the test with a message if it cannot.
  explicit TestRedis(std::vector<std::string> options = {},
                     const std::string& address = "127.0.0.1");
  ~TestRedis();  // also deletes its files
  TestRedis(const TestRedis&) = delete;
  TestRedis& operator=(const TestRedis&) = delete;

  int port() const { return port_.number(); }

  // Uses the Unix socket, as the default user and without TLS.
  RedisReply Do(const RedisCommand& command) const;

  void Stop();
  void Start(const std::vector<std::string>& more_options = {});  // on the same port
  void Freeze() const;                                            // SIGSTOP
  void Thaw() const;

 private:
  bool TryStart(const std::vector<std::string>& more_options);
  bool Serves() const;

  const std::vector<std::string> options_;
  const std::string address_;
  const TestFolder folder_;
  const ReservedPort port_;
  pid_t process_ = -1;
};

// The server accepts TLS only, with this certificate. Clients must present a certificate signed by
// `client_ca`, unless it is empty. Writes files to `folder`.
std::vector<std::string> TlsOptions(const TestFolder& folder, const TestCertificate& pair,
                                    const std::string& client_ca);

}  // namespace gpuscaler

// Debian's redis-server on loopback, for tests.
//
//   TestRedis redis({"--requirepass", "secret"});
//   redis.Do({"LPUSH", "jobs", "1", "2"});
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/test_ca.h"
#include "base/test_folder.h"
#include "redis/redis_codec.h"

namespace gpuscaler {

// A free port of `address` that nobody else is given, for a server that is told it and may come and
// go; meanwhile it refuses connections.
class KeptPort {
 public:
  explicit KeptPort(const std::string& address);
  ~KeptPort();
  KeptPort(const KeptPort&) = delete;
  KeptPort& operator=(const KeptPort&) = delete;

  int number() const { return number_; }

 private:
  const int socket_;
  int number_ = 0;
};

class TestRedis {
 public:
  // On a free port of `address`, with these options besides. It serves when this returns; tests end
  // with a message where it cannot.
  explicit TestRedis(std::vector<std::string> options = {},
                     const std::string& address = "127.0.0.1");
  ~TestRedis();  // and its files
  TestRedis(const TestRedis&) = delete;
  TestRedis& operator=(const TestRedis&) = delete;

  int port() const { return port_.number(); }

  // What it replies on its socket file: as the default user, past TLS.
  RedisReply Do(const RedisCommand& command) const;

  void Stop();
  void Start(const std::vector<std::string>& more_options = {});  // on the port it had
  void Freeze() const;                                            // SIGSTOP
  void Thaw() const;

 private:
  bool TryStart(const std::vector<std::string>& more_options);
  bool Serves() const;

  const std::vector<std::string> options_;
  const std::string address_;
  const TestFolder folder_;
  const KeptPort port_;
  pid_t process_ = -1;
};

// Options that serve TLS, and nothing else, with this certificate. `clients` must show one that
// `client_ca` signs, unless it is empty. Leaves its files in `folder`.
std::vector<std::string> TlsOptions(const TestFolder& folder, const TestPair& pair,
                                    const std::string& client_ca);

}  // namespace gpuscaler

// Debian's redis-server on loopback, for tests.
//
//   TestRedis redis({"--requirepass", "secret"});
//   redis.Do({"LPUSH", "jobs", "1", "2"});
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/test_ca.h"
#include "redis/redis_codec.h"

namespace gpuscaler {

class TestRedis {
 public:
  // On a free port of `address`, with these options besides. It serves when this returns; tests end
  // with a message where it cannot.
  explicit TestRedis(std::vector<std::string> options = {},
                     const std::string& address = "127.0.0.1");
  ~TestRedis();  // and its files
  TestRedis(const TestRedis&) = delete;
  TestRedis& operator=(const TestRedis&) = delete;

  int port() const { return port_; }

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
  const std::filesystem::path folder_;
  int port_ = 0;
  const int port_holder_;
  pid_t process_ = -1;
};

// Options that serve TLS, and nothing else, with this certificate. `clients` must show one that
// `client_ca` signs, unless it is empty. Leaves its files in `folder`.
std::vector<std::string> TlsOptions(const std::filesystem::path& folder, const TestPair& pair,
                                    const std::string& client_ca);

// A folder of its own under the tests' temporary one.
std::filesystem::path NewFolder();

}  // namespace gpuscaler

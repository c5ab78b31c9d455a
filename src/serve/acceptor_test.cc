#include "serve/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/bound_port.h"
#include "base/mutex.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// A connection to `port` of this machine, or -1.
int Connect(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return connection;
  }
  close(connection);
  return -1;
}

class Taken {
 public:
  ~Taken() {
    for (const int connection : connections_) close(connection);
  }
  void Add(int connection) {
    MutexLock lock(mutex_);
    connections_.push_back(connection);
    changed_.NotifyAll();
  }
  bool WaitFor(size_t count) {
    MutexLock lock(mutex_);
    for (int waits = 0; connections_.size() < count && waits < 20; ++waits) {
      changed_.WaitFor(mutex_, absl::Milliseconds(250));
    }
    return connections_.size() == count;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<int> connections_ ABSL_GUARDED_BY(mutex_);
};

TEST(Acceptor, HandsOverEachConnectionUntilItGoes) {
  BoundPort bound = BoundPort::Open("127.0.0.1", 0).value();
  const int port = bound.port();
  const int listening = std::move(bound).Listen().value();
  Taken taken;
  std::vector<int> clients;
  {
    const Acceptor acceptor(listening, [&](int connection) { taken.Add(connection); });
    for (int i = 0; i < 10; ++i) clients.push_back(Connect(port));
    EXPECT_TRUE(taken.WaitFor(10));
  }
  EXPECT_EQ(Connect(port), -1) << "the port is closed";
  for (const int client : clients) close(client);
}

// No descriptor more than are open, while it lives.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

TEST(Acceptor, BegunWithoutADescriptorLeftItServesAndEndsAllTheSame) {
  BoundPort bound = BoundPort::Open("127.0.0.1", 0).value();
  const int port = bound.port();
  const int listening = std::move(bound).Listen().value();
  Taken taken;
  int client = -1;
  {
    auto none_left = std::make_unique<NoDescriptorLeft>();
    const Acceptor acceptor(listening, [&](int connection) { taken.Add(connection); });
    none_left.reset();
    client = Connect(port);
    EXPECT_TRUE(taken.WaitFor(1));
  }
  EXPECT_EQ(Connect(port), -1) << "the port is closed";
  close(client);
}

}  // namespace
}  // namespace gpuscaler

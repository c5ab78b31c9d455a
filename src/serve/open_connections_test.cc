#include "serve/open_connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// Both ends of a connection.
class ConnectedPair {
 public:
  ConnectedPair() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets_.data()), 0);
  }
  ~ConnectedPair() {
    for (const int socket : sockets_) close(socket);
  }
  ConnectedPair(const ConnectedPair&) = delete;
  ConnectedPair& operator=(const ConnectedPair&) = delete;

  int server() const { return sockets_[0]; }
  bool IsShutDown() const {
    char byte = 0;
    return recv(sockets_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  std::array<int, 2> sockets_ = {-1, -1};
};

TEST(OpenConnections, OldestIsShutDownBeyondTheLimit) {
  const ConnectedPair first, second, third, fourth;
  OpenConnections connections(2);
  connections.Add(first.server(), nullptr);
  connections.Add(second.server(), nullptr);
  EXPECT_FALSE(first.IsShutDown());
  connections.Add(third.server(), nullptr);
  EXPECT_TRUE(first.IsShutDown());
  EXPECT_FALSE(second.IsShutDown());
  connections.Add(fourth.server(), nullptr);
  EXPECT_TRUE(second.IsShutDown()) << "the first one is on its way out, and does not count";
  EXPECT_FALSE(third.IsShutDown());
}

TEST(OpenConnections, StreamIsShutDownAfterAllOthers) {
  const ConnectedPair stream, idle, next, newest;
  OpenConnections connections(2);
  connections.Add(stream.server(), nullptr);
  connections.MarkAsStream(stream.server());
  connections.Add(idle.server(), nullptr);
  connections.Add(next.server(), nullptr);
  EXPECT_TRUE(idle.IsShutDown());
  connections.Add(newest.server(), nullptr);
  EXPECT_TRUE(next.IsShutDown());
  EXPECT_FALSE(stream.IsShutDown());
}

TEST(OpenConnections, OldestStreamIsShutDownIfAllAreStreams) {
  const ConnectedPair first, second, newest;
  OpenConnections connections(2);
  for (const ConnectedPair* const stream : {&first, &second}) {
    connections.Add(stream->server(), nullptr);
    connections.MarkAsStream(stream->server());
  }
  connections.Add(newest.server(), nullptr);
  EXPECT_TRUE(first.IsShutDown());
  EXPECT_FALSE(second.IsShutDown());
  EXPECT_FALSE(newest.IsShutDown()) << "streams shut no client out";
}

TEST(OpenConnections, RemovedConnectionMakesRoom) {
  const ConnectedPair first, second, third;
  OpenConnections connections(2);
  connections.Add(first.server(), nullptr);
  connections.Add(second.server(), nullptr);
  connections.Remove(second.server());
  connections.Add(third.server(), nullptr);
  EXPECT_FALSE(first.IsShutDown());
}

TEST(OpenConnections, ConnectionKeepsItsObject) {
  const ConnectedPair pair;
  const auto credentials = std::make_shared<const int>(1);
  OpenConnections connections(1);
  connections.Add(pair.server(), credentials);
  EXPECT_EQ(credentials.use_count(), 2);
  connections.Remove(pair.server());
  EXPECT_EQ(credentials.use_count(), 1);
}

}  // namespace
}  // namespace gpuscaler

// The connections of a server, in the order in which they came.
#pragma once

#include <memory>
#include <vector>

namespace gpuscaler {

// No clock and no address decides who has to go: whoever has been there longest. Not thread-safe.
class OpenConnections {
 public:
  explicit OpenConnections(int most) : most_(static_cast<size_t>(most)) {}

  // `keeps` lives as long as the connection. With more than `most` the oldest is shut down: its
  // reader then sees an end, calls Remove() and closes the socket.
  void Add(int socket, std::shared_ptr<const void> keeps);

  // Before the socket is closed: its number may then be another's.
  void Remove(int socket);

 private:
  struct Connection {
    int socket;
    std::shared_ptr<const void> keeps;
    bool shut_down = false;
  };

  void ShutDownOldest();

  const size_t most_;
  size_t shut_down_ = 0;
  std::vector<Connection> connections_;  // oldest first
};

}  // namespace gpuscaler

// The connections of a server, in the order of their arrival, and a limit on them.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace gpuscaler {

// Beyond the limit the oldest connection is closed, whatever its address or state. Not thread-safe.
class OpenConnections {
 public:
  explicit OpenConnections(int most) : most_(static_cast<size_t>(most)) {}

  // Keeps `keeps` as long as the connection. With more than `most` connections, shuts down the
  // oldest one: its reader then sees the end, calls Remove() and closes the socket.
  void Add(int socket, std::shared_ptr<const void> keeps) {
    connections_.push_back({.socket = socket, .keeps = std::move(keeps)});
    if (connections_.size() - shut_down_ <= most_) return;
    const auto oldest = std::ranges::find(connections_, false, &Connection::shut_down);
    shutdown(oldest->socket, SHUT_RDWR);
    oldest->shut_down = true;
    ++shut_down_;
  }

  // Must be called before the socket is closed, because the kernel may reuse its number.
  void Remove(int socket) {
    const auto found = std::ranges::find(connections_, socket, &Connection::socket);
    if (found == connections_.end()) return;
    if (found->shut_down) --shut_down_;
    connections_.erase(found);
  }

 private:
  struct Connection {
    int socket;
    std::shared_ptr<const void> keeps;
    bool shut_down = false;
  };

  const size_t most_;
  size_t shut_down_ = 0;
  std::vector<Connection> connections_;  // oldest first
};

}  // namespace gpuscaler

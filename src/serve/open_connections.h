// The connections of a server, in the order of their arrival, and a limit on them.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace gpuscaler {

// A new connection beyond the limit closes the oldest one, whatever its address or state. It closes
// a stream only if all others are streams: clients that merely connect end no stream. Not
// thread-safe.
class OpenConnections {
 public:
  // Requires at least one.
  explicit OpenConnections(int most) : most_(static_cast<size_t>(most)) {}

  // Holds `owned` until Remove(). If there are `most` connections already, shuts down one of them:
  // its reader then sees the end, calls Remove() and closes the socket.
  void Add(int socket, std::shared_ptr<const void> owned) {
    if (connections_.size() - shut_down_ >= most_) ShutDownOldest();
    connections_.push_back({.socket = socket, .owned = std::move(owned)});
  }

  // Does nothing if the socket was not added. A connection stays a stream until it is removed.
  void MarkAsStream(int socket) {
    const auto found = Find(socket);
    if (found != connections_.end()) found->is_stream = true;
  }

  // Must be called before the socket is closed, because the kernel may reuse its number.
  void Remove(int socket) {
    const auto found = Find(socket);
    if (found == connections_.end()) return;
    if (found->shut_down) --shut_down_;
    connections_.erase(found);
  }

 private:
  struct Connection {
    int socket;
    bool is_stream = false;
    bool shut_down = false;
    std::shared_ptr<const void> owned;
  };
  using Connections = std::vector<Connection>;

  Connections::iterator Find(int socket) {
    return std::ranges::find(connections_, socket, &Connection::socket);
  }

  void ShutDownOldest() {
    auto oldest = std::ranges::find_if(
        connections_, [](const Connection& one) { return !one.shut_down && !one.is_stream; });
    if (oldest == connections_.end()) {
      oldest = std::ranges::find(connections_, false, &Connection::shut_down);
    }
    shutdown(oldest->socket, SHUT_RDWR);
    oldest->shut_down = true;
    ++shut_down_;
  }

  const size_t most_;
  size_t shut_down_ = 0;
  Connections connections_;  // oldest first
};

}  // namespace gpuscaler

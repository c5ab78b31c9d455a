#include "serve/open_connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace gpuscaler {

void OpenConnections::Add(int socket, std::shared_ptr<const void> keeps) {
  connections_.push_back({.socket = socket, .keeps = std::move(keeps)});
  if (connections_.size() - shut_down_ > most_) ShutDownOldest();
}

void OpenConnections::ShutDownOldest() {
  const auto oldest = std::ranges::find(connections_, false, &Connection::shut_down);
  shutdown(oldest->socket, SHUT_RDWR);
  oldest->shut_down = true;
  ++shut_down_;
}

void OpenConnections::Remove(int socket) {
  const auto found = std::ranges::find(connections_, socket, &Connection::socket);
  if (found == connections_.end()) return;
  if (found->shut_down) --shut_down_;
  connections_.erase(found);
}

}  // namespace gpuscaler

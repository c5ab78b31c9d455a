// Takes the connections of a listening socket, whatever happens.
#pragma once

#include <functional>
#include <memory>

namespace gpuscaler {

// gRPC's own listener (1.51) never accepts again once accept() fails, for want of descriptors say,
// and nobody can tell from outside. This one leaves the connections in the backlog and tries again.
class Acceptor {
 public:
  // Owns `listening`, which is non-blocking. `take` gets each connection, non-blocking, to own; it
  // is called on a thread of the acceptor's.
  Acceptor(int listening, std::function<void(int connection)> take);
  ~Acceptor();  // no further call of `take`; the port is closed
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler

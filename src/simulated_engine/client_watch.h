// Whose client has gone: sockets of requests that nobody reads from while they are served.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Add(), Remove() and Wake() from any thread, Wait() from one.
class ClientWatch {
 public:
  ClientWatch();
  ~ClientWatch();
  ClientWatch(const ClientWatch&) = delete;
  ClientWatch& operator=(const ClientWatch&) = delete;

  // `socket` stays open until it is removed.
  void Add(int socket, int64_t key);
  void Remove(int socket);

  // The keys of clients that have gone: who closes only its own direction has, too. After
  // `timeout`, or earlier for some that have gone, for Wake(), or for nothing. A key comes again
  // until it is removed.
  std::vector<int64_t> Wait(absl::Duration timeout);
  void Wake();

 private:
  const int epoll_;
  const int wake_;
};

}  // namespace gpuscaler

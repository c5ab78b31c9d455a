// Detects clients that close their connection while their request is served.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Add(), Remove() and Wake() may be called by any thread, Wait() by one.
class ClientWatch {
 public:
  ClientWatch();
  ~ClientWatch();
  ClientWatch(const ClientWatch&) = delete;
  ClientWatch& operator=(const ClientWatch&) = delete;

  // `socket` must stay open until it is removed.
  void Add(int socket, int64_t key);
  void Remove(int socket);

  // Returns the keys of clients that have closed their connection, or only their sending direction.
  // Blocks up to `timeout`; returns earlier after Wake(), or spuriously with no keys. Returns a key
  // repeatedly until it is removed.
  std::vector<int64_t> Wait(absl::Duration timeout);
  void Wake();

 private:
  const int epoll_;
  const int wake_;
};

}  // namespace gpuscaler

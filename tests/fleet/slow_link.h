// A TCP proxy that can delay or break connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// Forwards TCP to 127.0.0.1:`port` in both directions. Thread-safe.
class SlowLink {
 public:
  explicit SlowLink(int port);
  ~SlowLink();

  std::string address() const;

  // Delays everything from now on by `delay` to twice as long.
  void Delay(absl::Duration delay) { delay_ms_ = absl::ToInt64Milliseconds(delay); }

  // Closes all connections; new ones are forwarded.
  void Break();

 private:
  struct Pair {
    int near;
    int far;
  };

  void Accept();
  void Pump(int from, int to) const;

  const int port_;
  int listening_ = -1;
  int own_port_ = 0;
  std::atomic<int64_t> delay_ms_ = 0;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::vector<Pair> pairs_
      ABSL_GUARDED_BY(mutex_);  // closed at the end, so that no number is reused
  std::vector<std::thread> pumps_ ABSL_GUARDED_BY(mutex_);
  std::thread accepting_;
};

}  // namespace gpuscaler

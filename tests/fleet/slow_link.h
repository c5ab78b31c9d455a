// A connection between two parts that the test can make slow, or cut.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// Passes TCP on to 127.0.0.1:`port`, whatever is said, both ways. Thread-safe.
class SlowLink {
 public:
  explicit SlowLink(int port);
  ~SlowLink();

  std::string address() const;

  // Whatever is sent from now on is so late at least, and no more than twice so.
  void Delay(absl::Duration delay) { delay_ms_ = absl::ToInt64Milliseconds(delay); }

  // Ends every connection; new ones are passed on.
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

// The growth of a counter per second, computed from its readings.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuscaler {

// The rate is empty until the second reading, and after a reading smaller than the one before: the
// counter wrapped or was reset, by an unknown amount. It is also empty after an outage: a mean over
// all of it does not describe the present. Not thread-safe.
class CounterRate {
 public:
  // The counter was `count` at `usec`, in microseconds of any clock. The same instant again returns
  // the same rate. After an earlier instant, as of a clock set back, rates continue from that
  // reading.
  std::optional<double> PerSecond(uint64_t count, int64_t usec) {
    if (seen_ && usec == usec_) return rate_;
    rate_.reset();
    const int64_t apart = seen_ ? usec - usec_ : 0;
    if (apart > 0 && count >= count_ && !IsOutage(apart)) {
      rate_ = static_cast<double>(count - count_) * 1e6 / static_cast<double>(apart);
    }
    apart_ = apart;
    seen_ = true;
    count_ = count;
    usec_ = usec;
    return rate_;
  }

 private:
  // Returns true if the interval is long and the one before was not. Readings may be minutes apart.
  bool IsOutage(int64_t apart) const { return apart > 30'000'000 && apart / 2 > apart_; }

  bool seen_ = false;
  uint64_t count_ = 0;
  int64_t usec_ = 0;
  int64_t apart_ = 0;  // between the last two readings
  std::optional<double> rate_;
};

}  // namespace gpuscaler

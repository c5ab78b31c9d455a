// What a counter grew by each second, from the readings of it.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuscaler {

// Empty until the second reading, and after one that is smaller than the one before: the counter
// wrapped or was reset, and how far it went then is unknown. Empty too after an outage: the mean
// over all of it says nothing about now.
class CounterRate {
 public:
  // `usec` is when the counter stood at `count`. The same instant again says nothing new; an
  // earlier one is a clock put back, and the next reading starts afresh from it.
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
  // Readings may be minutes apart; then those before were as well.
  bool IsOutage(int64_t apart) const { return apart > 30'000'000 && apart / 2 > apart_; }

  bool seen_ = false;
  uint64_t count_ = 0;
  int64_t usec_ = 0;
  int64_t apart_ = 0;  // of the last two readings
  std::optional<double> rate_;
};

}  // namespace gpuscaler

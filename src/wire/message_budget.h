// Bounds the bytes that many calls hold.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace gpuscaler {

// Thread-safe.
class MessageBudget {
 public:
  // If there is a `whole`, takes from it too: at most half of the bytes that its other parts leave,
  // so that no number of parts can spend all of it. `whole` must outlive this.
  explicit MessageBudget(size_t most, MessageBudget* whole = nullptr)
      : most_(most), whole_(whole) {}

  // False: too few are left, and none is taken.
  bool Take(size_t bytes) {
    if (bytes == 0) return true;  // also if it has more than its present share
    size_t taken = taken_;
    do {
      if (taken + bytes > Most(taken)) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    if (whole_ == nullptr || whole_->Take(bytes)) return true;
    taken_ -= bytes;
    return false;
  }
  void Return(size_t bytes) {
    taken_ -= bytes;
    if (whole_ != nullptr) whole_->Return(bytes);
  }
  size_t taken() const { return taken_; }

 private:
  size_t Most(size_t taken) const {
    if (whole_ == nullptr) return most_;
    const size_t by_others = whole_->taken_ - std::min(taken, whole_->taken());
    return std::min(most_, (whole_->most_ - by_others) / 2);
  }

  const size_t most_;
  MessageBudget* const whole_;
  std::atomic<size_t> taken_ = 0;
};

// The bytes that one call holds of a budget. Not thread-safe.
//
// The first kFew bytes do not count, so small messages pass even when the budget is spent. The
// limit of open streams bounds their total.
class CallBudget {
 public:
  static constexpr size_t kFew = 512;

  explicit CallBudget(MessageBudget& budget) : budget_(budget) {}  // which outlives it
  ~CallBudget() { Release(held_); }
  CallBudget(const CallBudget&) = delete;
  CallBudget& operator=(const CallBudget&) = delete;

  // False: the budget is spent, and the call holds no more than before.
  bool Reserve(size_t bytes) {
    if (!budget_.Take(Counted(held_ + bytes) - Counted(held_))) return false;
    held_ += bytes;
    return true;
  }
  void Release(size_t bytes) {
    budget_.Return(Counted(held_) - Counted(held_ - bytes));
    held_ -= bytes;
  }
  // Reserves more, or releases some.
  bool Set(size_t bytes) {
    if (bytes >= held_) return Reserve(bytes - held_);
    Release(held_ - bytes);
    return true;
  }

 private:
  static size_t Counted(size_t held) { return held > kFew ? held - kFew : 0; }

  MessageBudget& budget_;
  size_t held_ = 0;
};

}  // namespace gpuscaler

// A token bucket: `size` tokens at once, `per_second` on average.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double size, double per_second)
      : size_(size), per_second_(per_second), tokens_(size) {}

  // Returns false and takes none if too few are left. `now` never goes back.
  bool Take(absl::Time now, double tokens = 1) {
    Fill(now);
    if (tokens_ < tokens) return false;
    tokens_ -= tokens;
    return true;
  }

  // Takes the tokens even if too few are left. The balance may then be negative, and Take() fails
  // until enough tokens are back. Negative `tokens` are a refund of a later charge: the balance may
  // exceed the size until then.
  void Charge(absl::Time now, double tokens) {
    Fill(now);
    tokens_ -= tokens;
  }

  bool IsOverdrawn(absl::Time now) {
    Fill(now);
    return tokens_ < 0;
  }

  bool IsFull(absl::Time now) const { return TokensAt(now) >= size_; }

 private:
  double TokensAt(absl::Time now) const {
    if (filled_at_ == absl::InfinitePast()) return tokens_;
    return std::max(
        tokens_, std::min(size_, tokens_ + per_second_ * absl::ToDoubleSeconds(now - filled_at_)));
  }

  void Fill(absl::Time now) {
    tokens_ = TokensAt(now);
    filled_at_ = now;
  }

  const double size_;
  const double per_second_;
  double tokens_;
  absl::Time filled_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler

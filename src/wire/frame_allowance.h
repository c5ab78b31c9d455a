// Bounds the frames of a peer that serve no call: pings, empty DATA, frames of unknown types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpuscaler {

// DATA of fewer bytes serves a call only if it ends a message or the call.
constexpr size_t kFewBytes = 64;
// A call, and each frame of HEADERS or DATA that is sent, entails as many frames of the peer at
// most: WINDOW_UPDATE for the stream and the connection, DATA for a call that has ended.
constexpr int64_t kFramesEntailed = 4;

// Each frame spends one of the allowance, and a frame of use earns it back. Not thread-safe.
class FrameAllowance {
 public:
  // The peer's first `preface` bytes are no frames.
  FrameAllowance(int64_t most, size_t preface) : most_(most), left_(most), payload_left_(preface) {}

  // Spends the frames that begin in the peer's next bytes: nghttp2 reports none that it ignores.
  void Read(const uint8_t* bytes, size_t size) {
    constexpr int kHead = 9, kLength = 3;  // RFC 9113, section 4.1
    for (const uint8_t* const end = bytes + size; bytes != end;) {
      if (payload_left_ > 0) {
        const size_t skipped = std::min(payload_left_, static_cast<size_t>(end - bytes));
        payload_left_ -= skipped;
        bytes += skipped;
        continue;
      }
      if (head_size_ < kLength) length_ = length_ << 8 | *bytes;
      ++bytes;
      if (++head_size_ < kHead) continue;
      Spend();
      head_size_ = 0;
      payload_left_ = std::exchange(length_, 0);
    }
  }

  void Spend() { --left_; }
  // Saves up to a hundred times the first allowance: enough for 25,000 streams that end together.
  void Earn(int64_t frames) { left_ = std::min(left_ + frames, 100 * most_); }
  void Refill() { left_ = std::max(left_, most_); }
  // Must be called every second or so: keepalive pings alone would spend it in hours.
  void Recover() {
    if (left_ < most_) ++left_;
  }
  bool is_spent() const { return left_ < 0; }

 private:
  const int64_t most_;
  int64_t left_;
  size_t payload_left_;
  size_t length_ = 0;
  int head_size_ = 0;
};

}  // namespace gpuscaler

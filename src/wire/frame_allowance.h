// Bounds the frames of a peer that serve no call: pings, empty DATA, frames of unknown types.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gpuscaler {

// The most frames without use that a correct peer sends for each call, and for each HEADERS or DATA
// frame that it receives: WINDOW_UPDATE for the stream and the connection, and DATA for a call that
// has ended.
constexpr int64_t kFramesPerUsefulFrame = 4;

// Each frame spends one of the allowance, and a useful frame earns it back. Not thread-safe.
class FrameAllowance {
 public:
  // The peer's first `preface` bytes are no frames.
  FrameAllowance(int64_t most, size_t preface) : most_(most), left_(most), payload_left_(preface) {}

  // Spends the frames that begin in the peer's next bytes: nghttp2 reports none that it ignores.
  // DATA that may have a message is free: a peer sends it even after the end of its call, until it
  // has received that end.
  void Read(const uint8_t* bytes, size_t size) {
    constexpr int kHead = 9, kKept = 5;  // RFC 9113, section 4.1: length, type, flags
    for (const uint8_t* const end = bytes + size; bytes != end;) {
      if (payload_left_ > 0) {
        const size_t skipped = std::min(payload_left_, static_cast<size_t>(end - bytes));
        payload_left_ -= skipped;
        bytes += skipped;
        continue;
      }
      if (head_size_ < kKept) head_ = head_ << 8 | *bytes;
      ++bytes;
      if (++head_size_ < kHead) continue;
      payload_left_ = static_cast<size_t>(head_ >> 16);
      const auto type = static_cast<uint8_t>(head_ >> 8);
      if (!IsFree(type, static_cast<uint8_t>(head_), payload_left_)) Spend();
      continuation_bytes_ =
          type == NGHTTP2_CONTINUATION ? continuation_bytes_ + payload_left_ : size_t{0};
      head_ = 0;
      head_size_ = 0;
    }
  }

  // Returns true if the frame, which nghttp2 has accepted, begins or ends a call or may have a
  // message. Earns back what it has spent.
  bool Accept(const nghttp2_frame& frame) {
    const nghttp2_frame_hd& head = frame.hd;
    if (head.type != NGHTTP2_HEADERS && head.type != NGHTTP2_DATA) return false;
    if (head.type == NGHTTP2_DATA && (head.flags & NGHTTP2_FLAG_END_STREAM) == 0 &&
        head.length - frame.data.padlen < kShortestMessage) {
      return false;
    }
    if (!IsFree(head.type, head.flags, head.length)) Earn(1);
    return true;
  }

  void Spend() { --left_; }
  // Saves up to a hundred times the first allowance: enough for 25,000 streams that end together.
  void Earn(int64_t frames) { left_ = std::min(left_ + frames, 100 * most_); }
  void Refill() { left_ = std::max(left_, most_); }
  // Must be called once a second: keepalive PINGs alone would spend the allowance in hours.
  void Recover() {
    if (left_ < most_) ++left_;
  }
  bool is_spent() const { return left_ < 0; }

  // The payload of the last frames if they are CONTINUATION, which nghttp2 may not report either.
  size_t continuation_bytes() const { return continuation_bytes_; }

 private:
  static constexpr size_t kShortestMessage = 5;  // its prefix

  static bool IsFree(uint8_t type, uint8_t flags, size_t length) {
    return type == NGHTTP2_DATA && (flags & NGHTTP2_FLAG_PADDED) == 0 && length >= kShortestMessage;
  }

  const int64_t most_;
  int64_t left_;
  size_t payload_left_;
  size_t continuation_bytes_ = 0;
  uint64_t head_ = 0;  // the part that has been read
  int head_size_ = 0;
};

}  // namespace gpuscaler

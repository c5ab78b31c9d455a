// gRPC's messages in the bytes of a stream: a byte of flags, four of length, the message.
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Bounds the bytes of unfinished messages in many readers. Not thread-safe.
class MessageBudget {
 public:
  // Takes from `whole` too, which outlives it.
  explicit MessageBudget(size_t most, MessageBudget* whole = nullptr)
      : most_(most), whole_(whole) {}

  bool Take(size_t bytes) {
    if (bytes > most_ - taken_) return false;
    if (whole_ != nullptr && !whole_->Take(bytes)) return false;
    taken_ += bytes;
    return true;
  }
  void Return(size_t bytes) {
    taken_ -= bytes;
    if (whole_ != nullptr) whole_->Return(bytes);
  }
  size_t taken() const { return taken_; }

 private:
  const size_t most_;
  MessageBudget* const whole_;
  size_t taken_ = 0;
};

// Not thread-safe.
class MessageReader {
 public:
  // `budget` outlives the reader.
  MessageReader(size_t longest_message, MessageBudget& budget)
      : longest_(longest_message), budget_(budget) {}
  ~MessageReader() { budget_.Return(message_.size() + kept_); }
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Calls `take` with each message that `bytes` completes. RESOURCE_EXHAUSTED: a message is longer
  // than the limit, or the budget is spent. UNIMPLEMENTED: it is compressed. INTERNAL: it has other
  // flags. Must not be called after an error.
  // A message that comes whole takes nothing from the budget.
  absl::Status Add(absl::string_view bytes, absl::FunctionRef<void(std::string)> take);

  // Takes bytes that live until Release(), or as long as the call, unless they are few. False: it
  // is spent.
  bool Keep(size_t bytes);
  // Returns the bytes of one Keep() to the budget.
  void Release(size_t bytes);

  // True between two messages.
  bool is_complete() const { return prefix_.empty(); }

  // After RESOURCE_EXHAUSTED: the message is longer than the limit.
  bool is_too_long() const { return length_ > longest_; }

 private:
  absl::Status CheckPrefix();

  const size_t longest_;
  MessageBudget& budget_;
  std::string prefix_;   // the part that has come of the five bytes before a message
  size_t length_ = 0;    // the message's, when the prefix is whole
  std::string message_;  // the part that has come
  size_t kept_ = 0;
};

}  // namespace gpuscaler

// gRPC's messages in the bytes of a stream: a byte of flags, four of length, the message.
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Bounds the bytes of unfinished messages in all readers of a server. Not thread-safe.
class MessageBudget {
 public:
  explicit MessageBudget(size_t most) : most_(most) {}

  bool Take(size_t bytes) {
    if (bytes > most_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  void Return(size_t bytes) { taken_ -= bytes; }
  size_t taken() const { return taken_; }

 private:
  const size_t most_;
  size_t taken_ = 0;
};

// Not thread-safe.
class MessageReader {
 public:
  // `budget` outlives the reader.
  MessageReader(size_t longest_message, MessageBudget& budget)
      : longest_(longest_message), budget_(budget) {}
  ~MessageReader() { budget_.Return(message_.size()); }
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Calls `take` with each message that `bytes` completes. RESOURCE_EXHAUSTED: a message is longer
  // than the limit, or the budget is spent. UNIMPLEMENTED: it is compressed. INTERNAL: it has other
  // flags. Must not be called after an error.
  absl::Status Add(absl::string_view bytes, absl::FunctionRef<void(std::string)> take);

  // True between two messages.
  bool is_complete() const { return prefix_.empty(); }

 private:
  absl::Status CheckPrefix();

  const size_t longest_;
  MessageBudget& budget_;
  std::string prefix_;   // the part that has come of the five bytes before a message
  size_t length_ = 0;    // the message's, when the prefix is whole
  std::string message_;  // the part that has come
};

}  // namespace gpuscaler

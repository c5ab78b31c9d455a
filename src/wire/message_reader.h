// gRPC's messages in the bytes of a stream: a byte of flags, four of length, the message.
#pragma once

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "wire/message_budget.h"

namespace gpuscaler {

// Returns the message with the five bytes before it: no compression, its length.
std::string Prefixed(absl::string_view message);

// Not thread-safe.
class MessageReader {
 public:
  // `budget` outlives the reader.
  MessageReader(size_t longest_message, MessageBudget& budget)
      : longest_(longest_message), budget_(budget) {}

  // Calls `take` with each message that `bytes` completes. RESOURCE_EXHAUSTED: a message is longer
  // than the limit, or the budget is spent. UNIMPLEMENTED: it is compressed. INTERNAL: it has other
  // flags. Must not be called after an error. A message that is complete in `bytes` takes nothing
  // from the budget.
  absl::Status Add(absl::string_view bytes, absl::FunctionRef<void(std::string)> take);

  // Takes `bytes` from the budget for data that the call keeps outside the reader, such as its
  // headers, until Release() or the reader's destruction. False: the budget is spent.
  bool Reserve(size_t bytes) { return budget_.Reserve(bytes); }
  void Release(size_t bytes) { budget_.Release(bytes); }

  // True between two messages.
  bool is_complete() const { return prefix_.empty(); }

  // After RESOURCE_EXHAUSTED: the message is longer than the limit.
  bool is_too_long() const { return length_ > longest_; }

 private:
  absl::Status CheckPrefix();

  const size_t longest_;
  CallBudget budget_;
  std::string prefix_;   // the part that has come of the five bytes before a message
  size_t length_ = 0;    // the message's, when the prefix is whole
  std::string message_;  // the part that has come
};

}  // namespace gpuscaler

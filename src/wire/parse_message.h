// Parses the messages of peers, within a bound on memory.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns false if the bytes are no such message, or if it might take more than `most_bytes` of
// memory. An empty message within another one takes two bytes of a connection, and hundreds of
// memory. Only messages that may be too large, by their size, are searched for such fields.
bool ParseMessage(absl::string_view bytes, size_t most_bytes, google::protobuf::Message& message);

}  // namespace gpuscaler

#include "wire/message_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr size_t kPrefix = 5;

}  // namespace

std::string Prefixed(absl::string_view message) {
  std::string bytes(kPrefix, '\0');
  for (size_t i = 0; i < 4; ++i) {
    bytes[kPrefix - 1 - i] = static_cast<char>(message.size() >> (8 * i) & 0xFF);
  }
  bytes.append(message.data(), message.size());
  return bytes;
}

absl::Status MessageReader::CheckPrefix() {
  length_ = 0;
  for (size_t i = 1; i < kPrefix; ++i) {
    length_ = length_ << 8 | static_cast<unsigned char>(prefix_[i]);
  }
  if (prefix_[0] == 1) return absl::UnimplementedError("compressed messages are not accepted");
  if (prefix_[0] != 0) return absl::InternalError("a message has unknown flags");
  if (length_ > longest_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", length_, " bytes is longer than ", longest_));
  }
  return absl::OkStatus();
}

absl::Status MessageReader::Add(absl::string_view bytes,
                                absl::FunctionRef<void(std::string)> take) {
  while (!bytes.empty()) {
    if (prefix_.size() < kPrefix) {
      const size_t more = std::min(bytes.size(), kPrefix - prefix_.size());
      prefix_.append(bytes.data(), more);
      bytes.remove_prefix(more);
      if (prefix_.size() < kPrefix) return absl::OkStatus();
      if (absl::Status status = CheckPrefix(); !status.ok()) return status;
    }
    if (message_.empty() && bytes.size() >= length_) {
      prefix_.clear();
      take(std::string(bytes.substr(0, length_)));
      bytes.remove_prefix(length_);
      continue;
    }
    const size_t more = std::min(bytes.size(), length_ - message_.size());
    if (!budget_.Reserve(more)) {
      return absl::ResourceExhaustedError("too many messages are unfinished; try again");
    }
    message_.append(bytes.data(), more);
    bytes.remove_prefix(more);
    if (message_.size() < length_) return absl::OkStatus();
    budget_.Release(message_.size());
    prefix_.clear();
    take(std::exchange(message_, {}));
  }
  return absl::OkStatus();
}

}  // namespace gpuscaler

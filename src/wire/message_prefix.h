// The five bytes before each message: no compression, its length.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

inline std::string Prefixed(absl::string_view message) {
  constexpr size_t kPrefix = 5;
  std::string bytes(kPrefix, '\0');
  for (size_t i = 0; i < 4; ++i) {
    bytes[kPrefix - 1 - i] = static_cast<char>(message.size() >> (8 * i) & 0xFF);
  }
  bytes.append(message.data(), message.size());
  return bytes;
}

}  // namespace gpuscaler

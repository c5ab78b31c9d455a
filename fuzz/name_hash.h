// Derives from a name what an input does not have. Unlike absl::Hash, it is the same in each
// process, so that a crash can be reproduced.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// FNV-1a.
inline uint32_t HashOf(absl::string_view name) {
  uint32_t hash = 2166136261;
  for (const char byte : name) hash = (hash ^ static_cast<uint8_t>(byte)) * 16777619;
  return hash;
}

}  // namespace gpuscaler

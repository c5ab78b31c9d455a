// Header fields as nghttp2 takes them.
#pragma once

#include <nghttp2/nghttp2.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// nghttp2 copies the name and the value when the field is submitted: both must live until then.
inline nghttp2_nv Field(absl::string_view name, absl::string_view value) {
  return {.name = reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          .value = reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};
}

inline void AddTo(std::vector<nghttp2_nv>& fields,
                  const std::multimap<std::string, std::string>& more) {
  for (const auto& [name, value] : more) fields.push_back(Field(name, value));
}

// All fields that gRPC does not reserve are a call's metadata.
inline bool IsReservedHeader(absl::string_view name) {
  return name == "content-type" || name == "te" || name == "user-agent" ||
         name == "content-length" || absl::StartsWith(name, "grpc-");
}

}  // namespace gpuscaler

// Pods that hold no GPU even if the kubelet lists one for them, such as monitoring pods with
// claims.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// The pods of a namespace with a name prefix. An empty prefix matches all of them.
struct IgnoredPods {
  std::string namespace_name;
  std::string prefix;

  friend bool operator==(const IgnoredPods&, const IgnoredPods&) = default;
};

inline bool IsIgnored(const std::vector<IgnoredPods>& ignored, absl::string_view namespace_name,
                      absl::string_view name) {
  for (const IgnoredPods& pods : ignored) {
    if (pods.namespace_name == namespace_name && absl::StartsWith(name, pods.prefix)) return true;
  }
  return false;
}

}  // namespace gpuscaler

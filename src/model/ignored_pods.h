// Pods that hold no GPU whatever the kubelet lists, as monitoring pods with claims do.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Pods of a namespace with names that begin so; an empty prefix: all of them.
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

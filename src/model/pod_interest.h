// The pods that a decision depends on. A query with them returns the nodes of these pods.
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

namespace gpuscaler {

// OwnerKey::owner of pods with an unresolved owner (HasUnresolvedOwner). No object has this name.
inline constexpr char kUnresolvedOwner[] = "?";

// The pods of one namespace with this owner, or possible owner.
struct OwnerKey {
  std::string namespace_name;
  std::string owner;  // has any kind; empty: any owner

  friend auto operator<=>(const OwnerKey&, const OwnerKey&) = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const OwnerKey& pods) {
    return Hash::combine(std::move(hash), pods.namespace_name, pods.owner);
  }
};

struct PodInterest {
  std::vector<std::string> namespaces;
  std::string owner;  // in each of them; empty: any owner
  // Pods of any owner too, if no pod of `owner` is known or one of them may have another owner.
  bool or_any_owner = false;
};

}  // namespace gpuscaler

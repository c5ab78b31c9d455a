// Whose pods a decision is made on: what is asked of those who know on which nodes they are.
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

namespace gpuscaler {

// PodsOf::owner of pods whose owner is not resolved (HasUnresolvedOwner). No object has this name.
inline constexpr char kUnresolvedOwner[] = "?";

// Pods of one namespace that belong, or may belong, to an owner of that name.
struct PodsOf {
  std::string namespace_name;
  std::string owner;  // of any kind; empty: any owner

  friend auto operator<=>(const PodsOf&, const PodsOf&) = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const PodsOf& pods) {
    return Hash::combine(std::move(hash), pods.namespace_name, pods.owner);
  }
};

struct PodInterest {
  std::vector<std::string> namespaces;
  std::string owner;  // in each of them; empty: any owner
  // Pods of any owner if no pod of that owner is known, or one may as well be another's.
  bool or_whoevers = false;
};

}  // namespace gpuscaler

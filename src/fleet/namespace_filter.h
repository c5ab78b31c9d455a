// Removes the parts of a node's readings that decisions on the pods of some namespaces do not use.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// Decisions on pods of these namespaces are the same with the filtered readings as with all. Not
// thread-safe.
//
// - A GPU that such a pod holds, or possibly holds, keeps its readings and all of its holders. So
//   does the parent of such a MIG instance.
// - Every other GPU stays in its place with its identity alone. So `gpuIndex` and the number of
//   MIG instances stay correct, and a GPU without a holder is not taken for a lost one.
// - GpuSample::is_free stays for all GPUs: one that other pods hold does not count as free.
// - Pods of the namespaces stay, and all holders of GPUs that keep their readings.
class NamespaceFilter {
 public:
  // A GPU keeps its readings for `horizon` after the last of the pods left, because a window may
  // still use the steady memory of that time.
  NamespaceFilter(std::set<std::string> namespaces, absl::Duration horizon)
      : namespaces_(std::move(namespaces)), horizon_(horizon) {}

  // Must be called with all readings of a node, in their order. While the holders are unknown, the
  // last known ones count. If they were never known, any pod may hold any GPU: returns everything.
  NodeSnapshot Filter(NodeSnapshot snapshot);

  bool Has(const std::string& namespace_name) const { return namespaces_.contains(namespace_name); }

 private:
  bool IsHeld(const NodeSnapshot& snapshot, const GpuSample& gpu) const;
  // Updates held_at_. Requires known holders.
  void UpdateHolders(const NodeSnapshot& snapshot);
  // Drops other pods without a holder in `snapshot`.
  void DropPods(NodeSnapshot& snapshot) const;

  const std::set<std::string> namespaces_;
  const absl::Duration horizon_;
  absl::Time known_at_ = absl::InfinitePast();  // the last reading with known holders
  // When a pod of the namespaces last held the GPU; key: UUID.
  std::map<std::string, absl::Time> held_at_;
};

}  // namespace gpuscaler

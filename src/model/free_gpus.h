// Free GPUs: no pod holds them. How many there are, how they are linked, and how many replicas they
// have room for.
#pragma once

#include <string>
#include <vector>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Sets GpuSample::is_free of all GPUs. Requires the holders.
//
// Only whole GPUs are free. A GPU that pods share is held as soon as one of them has a part of it.
// MIG instances and partitions are never free, nor is a GPU that is divided into them.
void MarkFreeGpus(NodeSnapshot& snapshot);

// The free GPUs of a node that have one link group.
struct FreeGroup {
  std::string node;
  std::string link_group;  // GpuSample::link_group
  int gpus = 0;            // 0: all of the group's GPUs are held
};

struct FreeGpus {
  // A group is missing if it is unknown of all its GPUs whether they are free.
  std::vector<FreeGroup> groups;
  int unknown = 0;  // whole GPUs that may be free or held

  // Requires that the node was not added before.
  void Add(const NodeSnapshot& snapshot);
  // Adds a node with readings that no longer count.
  void AddUnknown(const NodeSnapshot& snapshot);
};

int CountFree(const FreeGpus& free);

// Returns the number of free GPUs in the group with most of them.
int LargestGroup(const FreeGpus& free);

// The whole GPUs of one pod.
struct WholeGpus {
  std::vector<std::string> uuids;
  bool are_linked = false;  // two GPUs or more, of the same link group
};

// Returns the GPUs of each pod on the node that holds only whole GPUs, and shares none of them.
std::vector<WholeGpus> WholeGpusOfPods(const NodeSnapshot& snapshot);

// The GPUs that a new replica needs: those of each of its pods are on one node.
struct ReplicaNeed {
  std::vector<int> pods;  // GPUs of each pod
  bool linked = false;    // the GPUs of each pod must have the same link group
};

// Returns the number of replicas that fit at once. Packs the largest pods first, each into the
// smallest sufficient group (best fit decreasing), which is exact if all pods are of one size.
int RoomFor(const ReplicaNeed& need, const FreeGpus& free);

// Returns "8 free in 1+1+2+4", or "none free". `linked`: the parts are groups, otherwise nodes.
std::string FreeText(const FreeGpus& free, bool linked);

}  // namespace gpuscaler

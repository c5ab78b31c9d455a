// The pods that dcgm-exporter's page names become the holders of a snapshot's GPUs.
#pragma once

#include "gpu/dcgm_exposition.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// Fills the holders of `gpu`, which is one of `snapshot`'s, and adds their pods, each once and
// without owners. A GPU is divided by what the pods' processes use of it, where the page tells that
// of each, else equally.
void AddHolders(const DcgmDevice& device, NodeSnapshot& snapshot, GpuSample& gpu);

}  // namespace gpuscaler

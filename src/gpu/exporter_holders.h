// Makes the pods in an exporter's exposition the holders of a snapshot's GPUs.
#pragma once

#include "gpu/exporter_exposition.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// Fills the holders of `gpu` and adds their pods to `snapshot`, each once and without owners. The
// shares are those of the pods' utilization if the exposition has it for each pod. Else they are
// equal.
void AddHolders(const ExporterDevice& device, NodeSnapshot& snapshot, GpuSample& gpu);

}  // namespace gpuscaler

// Readings that cost, taken only while somebody wants them (DESIGN 4).
#pragma once

namespace gpuscaler {

struct CostlyReadings {
  bool pcie = false;  // NVML's PCIe counters block 20 ms for each direction of each GPU

  // Everything that `other` has is wanted here too.
  bool Covers(const CostlyReadings& other) const { return pcie || !other.pcie; }

  friend bool operator==(const CostlyReadings&, const CostlyReadings&) = default;
};

}  // namespace gpuscaler

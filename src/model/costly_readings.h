// Expensive readings, taken only while a trigger needs them.
#pragma once

namespace gpuscaler {

struct CostlyReadings {
  bool pcie = false;      // NVML's PCIe counters block 20 ms for each direction of each GPU
  bool activity = false;  // SMs, DRAM, tensor cores: GPM samples all counters of each GPU

  bool Covers(const CostlyReadings& other) const {
    return (pcie || !other.pcie) && (activity || !other.activity);
  }

  friend bool operator==(const CostlyReadings&, const CostlyReadings&) = default;
};

}  // namespace gpuscaler

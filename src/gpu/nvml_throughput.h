// Bytes over PCIe and NVLink: rates from the driver's counters where it has them.
#pragma once

#include <cstdint>
#include <map>

#include "gpu/counter_rate.h"
#include "gpu/nvml_api.h"
#include "gpu/nvml_reading.h"

namespace gpuscaler::nvml {

// One GPU's counters as they last stood. Keeps nothing of the library's: survives a new nvmlInit.
class Throughput {
 public:
  // Fills pcie_* and nvlink_*. Without byte counters for PCIe the driver measures, for 20 ms in
  // each direction, and only when `pcie_requested`. `now_usec` stands in for readings without a
  // time.
  void Read(const Calls& calls, Device device, bool pcie_requested, int64_t now_usec,
            Reading& reading);

 private:
  struct Rates {
    CounterRate tx;
    CounterRate rx;
  };

  void ReadPcie(const Calls& calls, Device device, bool wanted, const Field& tx, const Field& rx,
                Reading& reading);
  void ReadNvlink(const Calls& calls, Device device, int64_t now_usec, const Field& tx,
                  const Field& rx, const Field& links, Reading& reading);
  void ReadNvlink5(const Calls& calls, Device device, int64_t now_usec, uint32_t links,
                   Reading& reading);

  Rates pcie_;
  std::map<uint32_t, Rates> nvlink_;  // by link; kAllLinks where the driver adds up
};

}  // namespace gpuscaler::nvml

// PCIe and NVLink throughput: rates of the driver's counters, if it has them.
#pragma once

#include <cstdint>
#include <map>

#include "gpu/counter_rate.h"
#include "gpu/nvml_api.h"
#include "gpu/nvml_reading.h"

namespace gpuscaler::nvml {

// The counters of one GPU at the last reading. Keeps no object of the library, so it survives a new
// nvmlInit.
class Throughput {
 public:
  // Fills pcie_* and nvlink_*. Without byte counters for PCIe the driver measures for 20 ms in each
  // direction, and only if `pcie_requested`. `now_usec` is the time of readings without one.
  void Read(const NvmlFunctions& calls, Device device, bool pcie_requested, int64_t now_usec,
            Reading& reading);

 private:
  struct Rates {
    CounterRate tx;
    CounterRate rx;
  };

  void ReadPcie(const NvmlFunctions& calls, Device device, bool wanted, const Field& tx,
                const Field& rx, Reading& reading);
  void ReadNvlink(const NvmlFunctions& calls, Device device, int64_t now_usec, const Field& tx,
                  const Field& rx, const Field& links, Reading& reading);
  void ReadNvlink5(const NvmlFunctions& calls, Device device, int64_t now_usec, uint32_t links,
                   Reading& reading);

  Rates pcie_;
  std::map<uint32_t, Rates> nvlink_;  // key: link, or kAllLinks if the driver adds up
};

}  // namespace gpuscaler::nvml

// PCIe and NVLink throughput: rates of the driver's counters, if it has them.
#pragma once

#include <cstdint>
#include <map>

#include "gpu/counter_rate.h"
#include "gpu/nvml_api.h"
#include "gpu/nvml_reading.h"

namespace gpuscaler::nvml {

// The counters of one GPU at the last reading. Keeps no object of the library, so it survives a new
// nvmlInit. Not thread-safe.
class Throughput {
 public:
  // Fills pcie_* and nvlink_*. Blocks for 20 ms in each direction of PCIe if `pcie_requested` and
  // the driver has no byte counters for it. Counters that the driver returns without a time have
  // `now_usec`, in microseconds since 1970.
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
  std::map<uint32_t, Rates> nvlink_;  // key: link; kAllLinks: the sum of all
};

}  // namespace gpuscaler::nvml

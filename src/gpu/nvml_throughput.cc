#include "gpu/nvml_throughput.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace gpuscaler::nvml {
namespace {

constexpr uint32_t kMaxLinks = 36;  // nvml.h 13's NVML_NVLINK_MAX_LINKS
constexpr double kKibInMib = 1024;
constexpr double kBytesInMib = 1024 * 1024;
constexpr char kNoRateYet[] = "no rate yet: it takes two readings of a counter that grows";

// Gives each field its own result, even if the whole call failed.
void ReadFields(const NvmlFunctions& calls, Device device, int64_t now_usec,
                std::vector<Field>& fields) {
  const Return result = Call(calls.fields, device, static_cast<int>(fields.size()), fields.data());
  for (Field& field : fields) {
    if (result != kSuccess) field.result = result;
    if (field.usec <= 0) field.usec = now_usec;
  }
}

uint64_t Count(const Field& field) {
  const bool is_32_bits = field.type == kUint32 || field.type == kInt32;
  return is_32_bits ? field.value.as_uint32 : field.value.as_uint64;
}

// Only counters of 64 bits are usable. One of 32 bits of bytes wraps after 70 ms of PCIe 5, and the
// number of wraps between two readings is unknown.
bool IsUsablePcieCounter(const Field& field) {
  return field.result == kSuccess && (field.type == kUint64 || field.type == kUnsignedLong);
}

void Fill(const std::optional<double>& tx, const std::optional<double>& rx, GpuField field,
          double divisor, std::optional<double>& tx_value, std::optional<double>& rx_value,
          Reading& reading) {
  if (!tx || !rx) return reading.AddGap(field, kNoRateYet);
  tx_value = *tx / divisor;
  rx_value = *rx / divisor;
}

}  // namespace

void Throughput::Read(const NvmlFunctions& calls, Device device, bool pcie_requested,
                      int64_t now_usec, Reading& reading) {
  std::vector<Field> fields{{.id = kFieldPcieTxBytes},
                            {.id = kFieldPcieRxBytes},
                            {.id = kFieldNvlinkDataTx, .scope = kAllLinks},
                            {.id = kFieldNvlinkDataRx, .scope = kAllLinks},
                            {.id = kFieldNvlinkLinkCount}};
  ReadFields(calls, device, now_usec, fields);
  ReadPcie(calls, device, pcie_requested, fields[0], fields[1], reading);
  ReadNvlink(calls, device, now_usec, fields[2], fields[3], fields[4], reading);
}

void Throughput::ReadPcie(const NvmlFunctions& calls, Device device, bool wanted, const Field& tx,
                          const Field& rx, Reading& reading) {
  GpuSample& sample = reading.sample;
  if (IsUsablePcieCounter(tx) && IsUsablePcieCounter(rx)) {
    Fill(pcie_.tx.PerSecond(Count(tx), tx.usec), pcie_.rx.PerSecond(Count(rx), rx.usec),
         GpuField::kPcie, 1000, sample.pcie_tx_kbps, sample.pcie_rx_kbps, reading);
    return;
  }
  if (calls.pcie_kbps == nullptr) return;
  if (!wanted) return reading.AddNotWanted(GpuField::kPcie);
  unsigned tx_kbps = 0;
  unsigned rx_kbps = 0;
  Return result = Call(calls.pcie_kbps, device, kPcieTx, &tx_kbps);
  if (result == kSuccess) result = Call(calls.pcie_kbps, device, kPcieRx, &rx_kbps);
  if (!reading.Succeeded(GpuField::kPcie, result)) return;
  sample.pcie_tx_kbps = tx_kbps;
  sample.pcie_rx_kbps = rx_kbps;
}

void Throughput::ReadNvlink(const NvmlFunctions& calls, Device device, int64_t now_usec,
                            const Field& tx, const Field& rx, const Field& links,
                            Reading& reading) {
  const Return result = tx.result == kSuccess ? rx.result : tx.result;
  if (IsUnsupported(result) && links.result == kSuccess && links.value.as_uint32 > 0) {
    return ReadNvlink5(calls, device, now_usec, links.value.as_uint32, reading);
  }
  if (!reading.Succeeded(GpuField::kNvlink, result)) return;
  Rates& rates = nvlink_[kAllLinks];
  Fill(rates.tx.PerSecond(Count(tx), tx.usec), rates.rx.PerSecond(Count(rx), rx.usec),
       GpuField::kNvlink, kKibInMib, reading.sample.nvlink_tx_mbps, reading.sample.nvlink_rx_mbps,
       reading);
}

void Throughput::ReadNvlink5(const NvmlFunctions& calls, Device device, int64_t now_usec,
                             uint32_t links, Reading& reading) {
  std::vector<Field> fields;
  for (uint32_t link = 0; link < std::min(links, kMaxLinks); ++link) {
    fields.push_back({.id = kFieldNvlink5TxBytes, .scope = link});
    fields.push_back({.id = kFieldNvlink5RxBytes, .scope = link});
  }
  ReadFields(calls, device, now_usec, fields);
  std::optional<double> tx_sum;
  std::optional<double> rx_sum;
  bool rates_missing = false;
  for (size_t i = 0; i < fields.size(); i += 2) {
    const Field& tx = fields[i];
    const Field& rx = fields[i + 1];
    const Return result = tx.result == kSuccess ? rx.result : tx.result;
    if (IsUnsupported(result)) continue;  // a link that is not connected
    if (!reading.Succeeded(GpuField::kNvlink, result)) return;
    Rates& rates = nvlink_[tx.scope];
    const auto tx_rate = rates.tx.PerSecond(Count(tx), tx.usec);
    const auto rx_rate = rates.rx.PerSecond(Count(rx), rx.usec);
    rates_missing = rates_missing || !tx_rate || !rx_rate;
    tx_sum = tx_sum.value_or(0) + tx_rate.value_or(0);
    rx_sum = rx_sum.value_or(0) + rx_rate.value_or(0);
  }
  if (!tx_sum) return;  // no link is connected
  if (rates_missing) return reading.AddGap(GpuField::kNvlink, kNoRateYet);
  reading.sample.nvlink_tx_mbps = *tx_sum / kBytesInMib;
  reading.sample.nvlink_rx_mbps = *rx_sum / kBytesInMib;
}

}  // namespace gpuscaler::nvml

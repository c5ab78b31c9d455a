// The aggregator's parser of readings from untrusted agents.
#include <cstdint>

#include "fleet/telemetry_reader.h"
#include "fleet/wire_text.h"
#include "fuzz_assert.h"
#include "message_mutator.h"

namespace gpuscaler {
namespace {

using telemetry::v1::Telemetry;

bool IsIn(const std::optional<double>& value, double least, double most) {
  return !value || (*value >= least && *value <= most);
}

bool IsName(const std::string& name, size_t longest) {
  return name.size() <= longest && !HasControl(name);
}

bool IsText(const std::string& text) { return IsName(text, kLongestText); }

void CheckGpu(const GpuSample& gpu, const NodeSnapshot& snapshot) {
  FUZZ_ASSERT(IsName(gpu.uuid, 96) && IsName(gpu.parent_uuid, 96) && IsText(gpu.name));
  FUZZ_ASSERT(gpu.index >= 0 && gpu.index <= 1024);
  FUZZ_ASSERT(IsIn(gpu.utilization_percent, 0, 100) &&
              IsIn(gpu.memory_utilization_percent, 0, 100));
  FUZZ_ASSERT(IsIn(MemoryUsedPercent(gpu), 0, 100) && IsIn(gpu.temperature_celsius, -60, 200));
  FUZZ_ASSERT(IsIn(gpu.power_watts, 0, 20e3) && IsIn(gpu.power_limit_watts, 0, 20e3));
  FUZZ_ASSERT(IsIn(gpu.pcie_tx_kbps, 0, 1e9) && IsIn(gpu.pcie_rx_kbps, 0, 1e9));
  FUZZ_ASSERT(IsIn(gpu.nvlink_tx_mbps, 0, 1e7) && IsIn(gpu.nvlink_rx_mbps, 0, 1e7));
  FUZZ_ASSERT(IsIn(gpu.sm_activity_percent, 0, 100) && IsIn(gpu.dram_activity_percent, 0, 100) &&
              IsIn(gpu.tensor_activity_percent, 0, 100));
  FUZZ_ASSERT(IsIn(gpu.steady_memory.highest_percent, 0, 100));
  for (const GpuGap& gap : gpu.gaps) FUZZ_ASSERT(IsText(gap.detail));
  double shares = 0;
  for (const GpuHolder& holder : gpu.holders) {
    FUZZ_ASSERT(holder.pod >= 0 && static_cast<size_t>(holder.pod) < snapshot.pods.size());
    FUZZ_ASSERT(IsName(holder.container, kLongestLabel) && holder.share >= 0);
    shares += holder.share;
  }
  FUZZ_ASSERT(shares <= 1.001);
  for (const GpuProcess& process : gpu.processes.value_or(std::vector<GpuProcess>())) {
    FUZZ_ASSERT(process.pid >= 0 && process.memory_bytes.value_or(0) >= 0);
    FUZZ_ASSERT(IsIn(process.utilization_percent, 0, 100));
  }
}

void CheckPod(const Pod& pod) {
  FUZZ_ASSERT(IsName(pod.namespace_name, kLongestLabel) && !pod.namespace_name.empty());
  FUZZ_ASSERT(IsName(pod.name, kLongestObjectName) && !pod.name.empty());
  FUZZ_ASSERT(IsName(pod.uid, 96) && IsName(pod.address, kLongestAddress));
  FUZZ_ASSERT(pod.owners.size() <= 32);
  for (const PodOwner& owner : pod.owners) {
    FUZZ_ASSERT(IsName(owner.kind, kLongestLabel) && IsName(owner.name, kLongestObjectName));
  }
}

// A valid reading must still be valid after it was encoded again. Times more than 290,000 years ago
// do not fit into a message.
void CheckSentOn(const NodeSnapshot& snapshot) {
  ReadingDecoder decoder;
  decoder.SetNode(NodeOf(snapshot));
  const auto again = decoder.Decode(WholeReading(snapshot), WriterClock());
  FUZZ_ASSERT(again.ok());
  FUZZ_ASSERT(again->pods.size() == snapshot.pods.size());
  for (size_t i = 0; i < snapshot.pods.size(); ++i) {
    const Pod& pod = snapshot.pods[i];
    FUZZ_ASSERT(again->pods[i].name == pod.name && again->pods[i].owners == pod.owners);
  }
  FUZZ_ASSERT(again->attribution == snapshot.attribution);
  FUZZ_ASSERT(again->gpus.size() == snapshot.gpus.size());
  for (size_t i = 0; i < snapshot.gpus.size(); ++i) {
    const GpuSample& gpu = snapshot.gpus[i];
    FUZZ_ASSERT(again->gpus[i].uuid == gpu.uuid && again->gpus[i].holders == gpu.holders);
    FUZZ_ASSERT(again->gpus[i].utilization_percent == gpu.utilization_percent);
    FUZZ_ASSERT(again->gpus[i].memory_used_bytes == gpu.memory_used_bytes);
  }
}

void CheckUpdate(const AgentUpdate& update, absl::Time now) {
  FUZZ_ASSERT(IsName(update.node, kLongestObjectName) && IsText(update.version));
  FUZZ_ASSERT(IsText(update.trouble));
  for (const AgentUpdate::Reading& reading : update.readings) {
    const NodeSnapshot& snapshot = reading.snapshot;
    // Readings of one instant are a microsecond apart.
    FUZZ_ASSERT(snapshot.taken_at <= now + absl::Milliseconds(10));
    FUZZ_ASSERT(snapshot.gpus.size() <= 1024 && IsText(snapshot.attribution.why));
    for (const GpuSample& gpu : snapshot.gpus) CheckGpu(gpu, snapshot);
    for (const Pod& pod : snapshot.pods) CheckPod(pod);
    CheckSentOn(snapshot);
  }
}

void CheckStream(std::vector<Telemetry> messages) {
  TelemetryReader reader;
  absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  for (Telemetry& message : messages) {
    now += absl::Seconds(1);
    const absl::Status status =
        reader.Read(message, now, [now](const AgentUpdate& update) { CheckUpdate(update, now); });
    if (status.ok()) continue;
    FUZZ_ASSERT(absl::IsInvalidArgument(status) && !status.message().empty());
    FUZZ_ASSERT(!HasControl(status.message()));
    reader.Begin();  // as after a reconnect
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return gpuscaler::MutateMessages<gpuscaler::telemetry::v1::Telemetry>(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckStream(gpuscaler::MessagesIn<gpuscaler::telemetry::v1::Telemetry>(
      {reinterpret_cast<const char*>(data), size}));
  return 0;
}

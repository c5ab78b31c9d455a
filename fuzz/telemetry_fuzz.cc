// The aggregator's parser of readings from untrusted agents.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "fleet/gpu_wire.h"
#include "fleet/telemetry_reader.h"
#include "fleet/telemetry_wire.h"
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

bool IsText(const std::string& text) { return IsName(text, kLongestText) && IsUtf8(text); }

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

// Everything that is sent, except times.
auto ReadingsOf(const GpuSample& gpu) {
  return std::tie(gpu.uuid, gpu.parent_uuid, gpu.name, gpu.index, gpu.link_group,
                  gpu.utilization_percent, gpu.memory_utilization_percent, gpu.memory_used_bytes,
                  gpu.memory_total_bytes, gpu.temperature_celsius, gpu.power_watts,
                  gpu.power_limit_watts, gpu.pcie_tx_kbps, gpu.pcie_rx_kbps, gpu.nvlink_tx_mbps,
                  gpu.nvlink_rx_mbps, gpu.sm_activity_percent, gpu.dram_activity_percent,
                  gpu.tensor_activity_percent, gpu.processes, gpu.ecc_uncorrected_errors,
                  gpu.throttle_reasons, gpu.gaps, gpu.in_use, gpu.holders, gpu.is_free,
                  gpu.shared_by);
}

Pod WithoutTimes(Pod pod) {
  pod.listed_since.reset();
  pod.owner_listed_since.reset();
  return pod;
}

// Sends a snapshot to another reader, and returns what that one decodes. Times more than 290,000
// years ago do not fit into a message.
NodeSnapshot SentOn(const NodeSnapshot& snapshot) {
  ReadingDecoder decoder;
  decoder.SetNode(NodeOf(snapshot));
  const telemetry::v1::Reading sent = WholeReading(snapshot);
  auto decoded = decoder.Decode(sent, WriterClock());
  FUZZ_ASSERT(decoded.ok());
  FUZZ_ASSERT(WholeReading(*decoded).SerializeAsString() == sent.SerializeAsString());
  FUZZ_ASSERT(std::ranges::equal(decoded->gpus, snapshot.gpus, {}, &ReadingsOf, &ReadingsOf));
  FUZZ_ASSERT(std::ranges::equal(decoded->pods, snapshot.pods, {}, &WithoutTimes, &WithoutTimes));
  FUZZ_ASSERT(decoded->attribution == snapshot.attribution && decoded->node == snapshot.node &&
              decoded->source == snapshot.source && decoded->read_every == snapshot.read_every &&
              decoded->driver_version == snapshot.driver_version);
  return *std::move(decoded);
}

bool IsSame(const GpuSample& a, const GpuSample& b) {
  return ReadingsOf(a) == ReadingsOf(b) && a.held_since == b.held_since &&
         a.steady_memory == b.steady_memory;
}

bool IsSame(const NodeSnapshot& a, const NodeSnapshot& b) {
  return a.taken_at == b.taken_at && a.attribution == b.attribution && a.pods == b.pods &&
         std::ranges::equal(a.gpus, b.gpus,
                            [](const auto& x, const auto& y) { return IsSame(x, y); });
}

// Sends changes from snapshot to snapshot, as an agent does.
class Forwarding {
 public:
  void Send(const NodeSnapshot& snapshot) {
    const auto& last = encoder_.last();
    if (last && snapshot.taken_at <= last->taken_at) return;
    if (const auto reading = encoder_.Encode(snapshot)) {
      const auto decoded = decoder_.Decode(*reading, WriterClock());
      FUZZ_ASSERT(decoded.ok() && IsSame(*decoded, *last));
    } else {
      FUZZ_ASSERT(decoder_.Unchanged(ToWire(snapshot.taken_at), WriterClock()));
      FUZZ_ASSERT(IsSame(decoder_.Last(), *last));
    }
  }

 private:
  ReadingEncoder encoder_;
  ReadingDecoder decoder_;
};

void CheckUpdate(const AgentUpdate& update, absl::Time now, Forwarding& forwarding) {
  FUZZ_ASSERT(IsName(update.node, kLongestObjectName) && IsText(update.version));
  FUZZ_ASSERT(IsText(update.trouble));
  for (const AgentUpdate::Reading& reading : update.readings) {
    const NodeSnapshot& snapshot = reading.snapshot;
    // Readings of one instant are a microsecond apart.
    FUZZ_ASSERT(snapshot.taken_at <= now + absl::Milliseconds(10));
    FUZZ_ASSERT(snapshot.gpus.size() <= 1024 && IsText(snapshot.attribution.why));
    for (const GpuSample& gpu : snapshot.gpus) CheckGpu(gpu, snapshot);
    for (const Pod& pod : snapshot.pods) CheckPod(pod);
    forwarding.Send(SentOn(snapshot));
  }
}

void CheckStream(std::vector<Telemetry> messages) {
  TelemetryReader reader;
  Forwarding forwarding;
  absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  for (Telemetry& message : messages) {
    now += absl::Seconds(1);
    const absl::Status status = reader.Read(
        message, now, [&](const AgentUpdate& update) { CheckUpdate(update, now, forwarding); });
    if (status.ok()) continue;
    FUZZ_ASSERT(absl::IsInvalidArgument(status) && !status.message().empty());
    FUZZ_ASSERT(!HasControl(status.message()));
    reader.Begin();  // as after a reconnect
    forwarding = {};
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

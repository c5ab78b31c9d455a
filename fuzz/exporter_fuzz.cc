// Pages of an exporter, or of any other server in its place, and the resulting GPUs.
#include <cstdint>

#include "fuzz_assert.h"
#include "gpu/amd_exporter_schema.h"
#include "gpu/dcgm_schema.h"
#include "gpu/exporter_collection_detector.h"
#include "gpu/exporter_exposition.h"
#include "gpu/exporter_holders.h"
#include "gpu/exporter_sample.h"
#include "model/node_snapshot.h"

namespace gpuscaler {
namespace {

bool IsIn(const std::optional<double>& value, double least, double most) {
  return !value || (*value >= least && *value <= most);
}

void CheckSample(const GpuSample& gpu) {
  FUZZ_ASSERT(!gpu.uuid.empty() && gpu.index >= 0 && gpu.index <= 1024);
  FUZZ_ASSERT(IsIn(gpu.utilization_percent, 0, 100) &&
              IsIn(gpu.memory_utilization_percent, 0, 100));
  FUZZ_ASSERT(IsIn(gpu.sm_activity_percent, 0, 100) && IsIn(gpu.dram_activity_percent, 0, 100) &&
              IsIn(gpu.tensor_activity_percent, 0, 100));
  FUZZ_ASSERT(IsIn(MemoryUsedPercent(gpu), 0, 100));
  FUZZ_ASSERT(gpu.memory_used_bytes.value_or(0) >= 0 && gpu.memory_total_bytes.value_or(0) >= 0);
  FUZZ_ASSERT(gpu.ecc_uncorrected_errors.value_or(0) >= 0);
}

void CheckHolders(const ExporterDevice& device, const GpuSample& gpu,
                  const NodeSnapshot& snapshot) {
  FUZZ_ASSERT(gpu.holders.size() <= device.holders.size());
  double shares = 0;
  for (const GpuHolder& holder : gpu.holders) {
    FUZZ_ASSERT(holder.pod >= 0 && static_cast<size_t>(holder.pod) < snapshot.pods.size());
    FUZZ_ASSERT(holder.share >= 0);
    shares += holder.share;
  }
  FUZZ_ASSERT(gpu.holders.empty() || (shares > 0.999 && shares < 1.001));
}

void CheckPage(const ExporterSchema& schema, absl::string_view text, ExpositionFormat format) {
  const auto page = ReadExporterExposition(schema, text, format);
  if (!page.ok()) {
    FUZZ_ASSERT(!absl::IsInternal(page.status()) && !page.status().message().empty());
    return;
  }
  FUZZ_ASSERT(page->devices.size() <= kMaxExporterDevices);
  ExporterCollectionDetector detector;
  FUZZ_ASSERT(detector.Update(*page));  // the first page is new
  FUZZ_ASSERT(detector.Update(*page) != detector.has_energy());
  NodeSnapshot snapshot;
  for (const ExporterDevice& device : page->devices) {
    FUZZ_ASSERT(device.holders.size() <= kMaxExporterHolders);
    GpuSample gpu = SampleOf(device);
    CheckSample(gpu);
    if (device.instance.has_value()) CheckSample(ParentOf(device));
    AddHolders(device, snapshot, gpu);
    CheckHolders(device, gpu, snapshot);
    detector.RepeatsOldValue(device);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view page(reinterpret_cast<const char*>(data), size);
  for (const auto* schema : {&gpuscaler::DcgmSchema(), &gpuscaler::AmdExporterSchema()}) {
    gpuscaler::CheckPage(*schema, page, gpuscaler::ExpositionFormat::kText);
    gpuscaler::CheckPage(*schema, page, gpuscaler::ExpositionFormat::kOpenMetrics);
  }
  return 0;
}

// Pages of an exporter, or of any other server in its place, and the resulting GPUs. An input may
// have lines that stand for many.
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exposition_pages.h"
#include "fuzz_assert.h"
#include "gpu/amd_exporter_schema.h"
#include "gpu/dcgm_schema.h"
#include "gpu/exporter_collection_detector.h"
#include "gpu/exporter_exposition.h"
#include "gpu/exporter_holders.h"
#include "gpu/exporter_sample.h"
#include "gpu/exporter_schema.h"
#include "model/node_snapshot.h"

namespace gpuscaler {
namespace {

bool IsIn(const std::optional<double>& value, double least, double most) {
  return !value || (*value >= least && *value <= most);
}

void CheckSample(const GpuSample& gpu) {
  FUZZ_ASSERT(!gpu.uuid.empty() && gpu.index >= 0 && gpu.index <= kMaxExporterIndex);
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
  FUZZ_ASSERT(gpu.holders.size() == device.holders.size());
  double shares = 0;
  std::set<std::tuple<std::string, std::string, std::string>> names;
  for (size_t i = 0; i < gpu.holders.size(); ++i) {
    const GpuHolder& holder = gpu.holders[i];
    FUZZ_ASSERT(holder.pod >= 0 && static_cast<size_t>(holder.pod) < snapshot.pods.size());
    FUZZ_ASSERT(snapshot.pods[static_cast<size_t>(holder.pod)].name == device.holders[i].pod);
    FUZZ_ASSERT(holder.share >= 0);
    shares += holder.share;
    const ExporterHolder& named = device.holders[i];
    FUZZ_ASSERT(names.emplace(named.namespace_name, named.pod, named.container).second);
  }
  FUZZ_ASSERT(gpu.holders.empty() || (shares > 0.999 && shares < 1.001));
}

void CheckDevices(const ExporterExposition& page) {
  FUZZ_ASSERT(page.devices.size() <= kMaxExporterDevices);
  FUZZ_ASSERT(page.driver_version.size() <= kMaxExporterText);
  FUZZ_ASSERT(std::ranges::is_sorted(page.devices, {}, &ExporterDevice::Order));
  std::set<std::pair<std::string, std::optional<int>>> devices;
  for (const ExporterDevice& device : page.devices) {
    FUZZ_ASSERT(devices.emplace(device.uuid, device.instance).second);
    FUZZ_ASSERT(device.uuid.size() <= kMaxExporterId && device.model.size() <= kMaxExporterText);
    FUZZ_ASSERT(device.holders.size() <= kMaxExporterHolders);
  }
}

void CheckPage(const ExporterSchema& schema, absl::string_view text, ExpositionFormat format) {
  const auto page = ReadExporterExposition(schema, text, format);
  if (!page.ok()) {
    FUZZ_ASSERT(absl::IsInvalidArgument(page.status()) && !page.status().message().empty());
    return;
  }
  CheckDevices(*page);
  ExporterCollectionDetector detector;
  FUZZ_ASSERT(detector.Update(*page));  // the first page is new
  FUZZ_ASSERT(detector.Update(*page) != detector.has_energy());
  NodeSnapshot snapshot;
  for (const ExporterDevice& device : page->devices) {
    GpuSample gpu = SampleOf(device);
    CheckSample(gpu);
    if (device.instance.has_value()) CheckSample(ParentOf(device));
    AddHolders(device, snapshot, gpu);
    CheckHolders(device, gpu, snapshot);
    FUZZ_ASSERT(!detector.RepeatsOldValue(device));
  }
}

// Returns a line with a metric of a schema's table.
std::string KnownLine(std::mt19937& random) {
  constexpr const char* kDcgmGpus[] = {
      R"(gpu="0",UUID="GPU-0")", R"(gpu="#",UUID="GPU-#")",
      R"(gpu="1",UUID="GPU-1",GPU_I_ID="3",GPU_I_PROFILE="1g.18gb")",
      R"(gpu="1",UUID="GPU-1",GPU_I_ID="#")"};
  constexpr const char* kAmdGpus[] = {
      R"(gpu_id="0",serial_number="6",gpu_compute_partition_type="spx")", R"(gpu_id="#")",
      R"(gpu_id="1",serial_number="6",gpu_compute_partition_type="cpx",gpu_partition_id="1")",
      R"(gpu_id="#",serial_number="7",gpu_compute_partition_type="dpx",gpu_partition_id="#")"};
  constexpr const char* kPods[] = {"p", "q", "p#"};
  constexpr const char* kContainers[] = {"c", "c#"};
  constexpr const char* kValues[] = {"0", "0.5", "42", "1000", "196592", "9e12", "NaN", "1.7e308"};
  const bool is_dcgm = random() % 2 == 0;
  const ExporterSchema& schema = is_dcgm ? DcgmSchema() : AmdExporterSchema();
  std::string labels = is_dcgm ? kDcgmGpus[random() % 4] : kAmdGpus[random() % 4];
  if (random() % 2 == 0) {
    absl::StrAppend(&labels, ",", schema.namespace_name[0], "=\"n\",", schema.pod[0], "=\"",
                    kPods[random() % 3], "\",", schema.container[0], "=\"",
                    kContainers[random() % 2], "\"");
  }
  return absl::StrCat(schema.metrics[random() % schema.metrics.size()].name, "{", labels, "} ",
                      kValues[random() % std::size(kValues)]);
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::mt19937 random(seed);
  const std::string line = gpuscaler::MaybeRepeated(gpuscaler::KnownLine(random),
                                                    gpuscaler::kMaxExporterDevices, random);
  return gpuscaler::MutateOrPrepend(line, data, size, max_size, random);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string page = gpuscaler::ExpandedLines({reinterpret_cast<const char*>(data), size});
  for (const auto* schema : {&gpuscaler::DcgmSchema(), &gpuscaler::AmdExporterSchema()}) {
    gpuscaler::CheckPage(*schema, page, gpuscaler::FormatOf(page));
  }
  return 0;
}

#include "gpu/exporter_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "gpu/exporter_holders.h"
#include "gpu/exporter_sample.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kMinRequestInterval = absl::Seconds(1);

// A pod that is replaced because of its lost GPU has another name by then.
constexpr absl::Duration kKeepLost = absl::Minutes(5);

}  // namespace

ExporterSource::ExporterSource(const ExporterSchema& schema, HttpEndpoint endpoint,
                               ExporterAccess access, bool names_pods, std::string node,
                               const Clock& clock)
    : schema_(schema),
      url_(endpoint.Text()),
      names_pods_(names_pods),
      node_(std::move(node)),
      clock_(clock),
      endpoint_(std::move(endpoint), std::move(access)) {}

absl::StatusOr<NodeSnapshot> ExporterSource::Read(const CostlyReadings&) {
  const absl::Time now = clock_.Now();
  if (now - requested_at_ < kMinRequestInterval) return result_;
  requested_at_ = now;
  result_ = ReadNow();
  if (!result_.ok()) {
    result_ = absl::UnavailableError(absl::StrCat(schema_.name, ": ", result_.status().message()));
  }
  return result_;
}

absl::StatusOr<NodeSnapshot> ExporterSource::ReadNow() {
  ASSIGN_OR_RETURN(const Page fetched, endpoint_.Get());
  const absl::Time now = clock_.Now();
  auto page = ReadExporterExposition(schema_, fetched.body, fetched.format);
  if (!page.ok()) return AtUrl(page.status().message());
  if (page->devices.empty()) {
    return AtUrl("its page shows no GPU: it may be starting, or gets nothing from the driver");
  }
  if (!collection_.Update(*page)) return Unchanged(now);
  LogInterval(now);
  collected_ = ToSnapshot(*std::move(page), now);
  return collected_;
}

absl::Status ExporterSource::AtUrl(absl::string_view what) const {
  return absl::UnavailableError(absl::StrCat(url_, ": ", what));
}

absl::StatusOr<NodeSnapshot> ExporterSource::Unchanged(absl::Time now) const {
  const absl::Duration still = now - collected_.taken_at;
  if (still <= schema_.stale_after) return collected_;
  return AtUrl(absl::StrCat("the energy counters on its page have not changed for more than ",
                            DurationText(schema_.stale_after),
                            ": it no longer collects, or at too long an interval"));
}

// Logs the third collection: our start cuts the first interval short.
void ExporterSource::LogInterval(absl::Time now) {
  ++collections_;
  if (collection_.has_energy() && collections_ == 3) {
    LogInfo("exporter_collection_interval",
            {{"every_seconds", absl::ToDoubleSeconds(now - collected_.taken_at)}});
  }
  if (!collection_.has_energy() && collections_ == 1) {
    LogWarn("exporter_age_unknown",
            {{"why", absl::StrCat("no ", MetricNameOf(schema_, ExporterField::kEnergy),
                                  " is on its page")},
             {"consequence", "an unchanged page counts as new"}});
  }
}

NodeSnapshot ExporterSource::ToSnapshot(ExporterExposition page, absl::Time now) {
  NodeSnapshot snapshot = {.taken_at = now,
                           .node = node_,
                           .source = absl::StrCat(schema_.scheme, url_),
                           .driver_version = page.driver_version};
  std::string parent;  // GPU of the last instance
  for (const ExporterDevice& device : AddLost(std::move(page.devices), now)) {
    if (device.instance.has_value() && device.uuid != parent) {
      parent = device.uuid;
      snapshot.gpus.push_back(ParentOf(device));
    }
    GpuSample gpu = Sample(device, now);
    if (names_pods_) AddHolders(device, snapshot, gpu);
    snapshot.gpus.push_back(std::move(gpu));
  }
  return snapshot;
}

std::string ExporterSource::NotOnPage() const {
  return absl::StrCat("not on the page of ", schema_.name);
}

// The order is that of the page: by index and instance.
std::vector<ExporterDevice> ExporterSource::AddLost(std::vector<ExporterDevice> devices,
                                                    absl::Time now) {
  const size_t on_page = devices.size();
  std::erase_if(known_, [&](const auto& entry) {
    const ExporterDevice& known = entry.second.device;
    bool divided_anew = false;
    for (size_t i = 0; i < on_page; ++i) {
      if (devices[i].IsSame(known)) return false;
      divided_anew |= devices[i].uuid == known.uuid &&
                      devices[i].instance.has_value() != known.instance.has_value();
    }
    if (divided_anew || now - entry.second.seen_at > kKeepLost) return true;
    if (devices.size() == kMaxExporterDevices) return false;
    devices.push_back(known);
    devices.back().values = {};
    return false;
  });
  std::ranges::stable_sort(devices, {}, &ExporterDevice::Order);
  return devices;
}

GpuSample ExporterSource::Sample(const ExporterDevice& device, absl::Time now) {
  const auto [found, is_new] = known_.try_emplace(UuidOf(device));
  KnownDevice& known = found->second;
  const bool has_values = device.values != ExporterValues();
  GpuSample gpu = SampleOf(device);
  if (is_new && !has_values) {
    gpu.gaps = UnknownGpu(device.index, NotOnPage()).gaps;
  } else if (!is_new && (!has_values || collection_.RepeatsOldValue(device))) {
    gpu = UnreadableGpu(
        known.sample,
        has_values ? absl::StrCat(schema_.name, " repeats old values of it") : NotOnPage(), {});
    gpu.gpu_instance = device.instance;
  } else if (!is_new) {
    AddGaps(known.sample, NotOnPage(), gpu);
  }
  if (is_new || has_values) known.seen_at = now;
  known.device = device;
  known.sample = gpu;
  return gpu;
}

}  // namespace gpuscaler

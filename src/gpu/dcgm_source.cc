#include "gpu/dcgm_source.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "gpu/dcgm_holders.h"
#include "gpu/dcgm_sample.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kAskAtMostEvery = absl::Seconds(1);

// Two and a half of the exporter's usual intervals.
constexpr absl::Duration kMayStandStill = absl::Seconds(75);

// A pod that is started anew for its lost GPU has another name by then.
constexpr absl::Duration kKeepLost = absl::Minutes(5);

constexpr char kNotOnPage[] = "not on the page of dcgm-exporter";
constexpr char kRepeated[] = "dcgm-exporter repeats old values of it";

}  // namespace

DcgmSource::DcgmSource(HttpEndpoint endpoint, DcgmAccess access, bool names_pods, std::string node,
                       const Clock& clock)
    : url_(endpoint.Text()),
      names_pods_(names_pods),
      node_(std::move(node)),
      clock_(clock),
      endpoint_(std::move(endpoint), std::move(access)) {}

absl::StatusOr<NodeSnapshot> DcgmSource::Read(const CostlyReadings&) {
  const absl::Time now = clock_.Now();
  if (now - asked_at_ < kAskAtMostEvery) return answer_;
  asked_at_ = now;
  answer_ = ReadNow();
  if (!answer_.ok()) {
    answer_ = absl::UnavailableError(absl::StrCat("dcgm-exporter: ", answer_.status().message()));
  }
  return answer_;
}

absl::StatusOr<NodeSnapshot> DcgmSource::ReadNow() {
  ASSIGN_OR_RETURN(const Page fetched, endpoint_.Get());
  const absl::Time now = clock_.Now();
  auto page = ReadDcgmExposition(fetched.body, fetched.format);
  if (!page.ok()) return AtUrl(page.status().message());
  if (page->devices.empty()) {
    return AtUrl("its page shows no GPU: it may be starting, or cannot reach DCGM");
  }
  if (!movement_.Look(*page)) return Steady(now);
  NoteAge(now);
  newest_ = Take(*std::move(page), now);
  return newest_;
}

absl::Status DcgmSource::AtUrl(absl::string_view what) const {
  return absl::UnavailableError(absl::StrCat(url_, ": ", what));
}

absl::StatusOr<NodeSnapshot> DcgmSource::Steady(absl::Time now) const {
  const absl::Duration still = now - newest_.taken_at;
  if (still <= kMayStandStill) return newest_;
  return AtUrl(absl::StrCat("the energy counters on its page stand still for more than ",
                            DurationText(kMayStandStill),
                            ": it no longer collects, or with too long a --collect-interval"));
}

// The first interval is cut by our start.
void DcgmSource::NoteAge(absl::Time now) {
  ++moves_;
  if (movement_.can_tell() && moves_ == 3) {
    LogInfo("dcgm_page_moves", {{"every_seconds", absl::ToDoubleSeconds(now - newest_.taken_at)}});
  }
  if (!movement_.can_tell() && moves_ == 1) {
    LogWarn("dcgm_age_unknown", {{"why", "no DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION is on its page"},
                                 {"consequence", "a page that stands still counts as new"}});
  }
}

NodeSnapshot DcgmSource::Take(DcgmExposition page, absl::Time now) {
  NodeSnapshot snapshot = {.taken_at = now,
                           .node = node_,
                           .source = absl::StrCat("dcgm:", url_),
                           .driver_version = page.driver_version};
  std::string parent;  // of the instances that come now
  for (const DcgmDevice& device : WithLost(std::move(page.devices), now)) {
    if (device.gpu_instance.has_value() && device.uuid != parent) {
      parent = device.uuid;
      snapshot.gpus.push_back(ParentOf(device));
    }
    GpuSample gpu = Sample(device, now);
    if (names_pods_) AddHolders(device, snapshot, gpu);
    snapshot.gpus.push_back(std::move(gpu));
  }
  return snapshot;
}

// By index and instance, as on the page.
std::vector<DcgmDevice> DcgmSource::WithLost(std::vector<DcgmDevice> devices, absl::Time now) {
  const size_t on_page = devices.size();
  std::erase_if(known_, [&](const auto& entry) {
    const DcgmDevice& known = entry.second.device;
    bool divided_anew = false;
    for (size_t i = 0; i < on_page; ++i) {
      if (devices[i].IsSame(known)) return false;
      divided_anew |= devices[i].uuid == known.uuid &&
                      devices[i].gpu_instance.has_value() != known.gpu_instance.has_value();
    }
    if (divided_anew || now - entry.second.seen_at > kKeepLost) return true;
    devices.push_back(known);
    devices.back().values = {};
    return false;
  });
  std::ranges::stable_sort(devices, {}, [](const DcgmDevice& device) {
    return std::tuple(device.index, device.uuid, device.gpu_instance.value_or(-1));
  });
  return devices;
}

GpuSample DcgmSource::Sample(const DcgmDevice& device, absl::Time now) {
  const auto [found, is_new] = known_.try_emplace(UuidOf(device));
  Known& known = found->second;
  const bool has_values = device.values != DcgmValues();
  GpuSample gpu = SampleOf(device);
  if (is_new && !has_values) {
    gpu.gaps = UnknownGpu(device.index, kNotOnPage).gaps;
  } else if (!is_new && (!has_values || movement_.IsSteady(device))) {
    gpu = UnreadableGpu(known.sample, has_values ? kRepeated : kNotOnPage, {});
    gpu.gpu_instance = device.gpu_instance;
  } else if (!is_new) {
    AddGaps(known.sample, kNotOnPage, gpu);
  }
  if (is_new || has_values) known.seen_at = now;
  known.device = device;
  known.sample = gpu;
  return gpu;
}

}  // namespace gpuscaler

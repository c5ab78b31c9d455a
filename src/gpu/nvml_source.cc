#include "gpu/nvml_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "gpu/nvml_error.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kFirstBackOff = absl::Seconds(1);
constexpr absl::Duration kLongestBackOff = absl::Seconds(10);
constexpr absl::Duration kReopenInterval = absl::Minutes(1);
// A reopening that takes longer makes the working GPUs miss a reading.
constexpr absl::Duration kMaxReopenTime = absl::Seconds(1);

}  // namespace

NvmlSource::NvmlSource(std::vector<std::string> paths, std::string node, const Clock& clock)
    : paths_(std::move(paths)), node_(std::move(node)), clock_(clock) {}

absl::StatusOr<NodeSnapshot> NvmlSource::Read(const CostlyReadings& wanted) {
  if (clock_.Now() < retry_at_) return error_;
  if (reopen_) RETURN_IF_ERROR(ReopenForFailingGpus());
  if (absl::Status opened = EnsureSession(); !opened.ok()) return BackOff(opened);
  auto snapshot = ReadAll(wanted);
  if (!snapshot.ok()) return BackOff(snapshot.status());
  back_off_ = absl::ZeroDuration();
  last_ = *snapshot;
  EraseGoneHistories();
  return snapshot;
}

absl::Status NvmlSource::EnsureSession() {
  if (session_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(session_, nvml::Session::Open(paths_));
  LogInfo("nvml_opened", {{"node", node_}, {"driver_version", session_->driver_version()}});
  return absl::OkStatus();
}

absl::StatusOr<NodeSnapshot> NvmlSource::ReadAll(const CostlyReadings& wanted) {
  ASSIGN_OR_RETURN(const int count, session_->CountGpus());
  NodeSnapshot snapshot{.taken_at = clock_.Now(),
                        .node = node_,
                        .source = "nvml",
                        .driver_version = session_->driver_version()};
  std::vector<FailingIndex> failing;
  bool lost = false;
  for (int index = 0; index < count; ++index) {
    nvml::DeviceReading reading = ReadGpu(index, wanted, snapshot.taken_at);
    if (nvml::IsReload(reading.loss)) {
      return absl::UnavailableError(
          absl::StrCat("the driver was reloaded: ", nvml::ErrorText(reading.loss)));
    }
    lost = lost || nvml::IsLoss(reading.failure);
    if (reading.failure == nvml::kSuccess) {
      AddReadable(std::move(reading), wanted, snapshot);
      continue;
    }
    failing.push_back({index, nvml::ErrorText(reading.failure)});
  }
  if (count > 0 && std::ssize(failing) == count) {
    return absl::UnavailableError(
        absl::StrCat(count == 1 ? "the only GPU" : absl::StrCat("each of the ", count, " GPUs"),
                     " fails: ", failing.back().detail));
  }
  AddLinkGroups(snapshot);
  AddFailing(failing, wanted, snapshot);
  reopen_ = lost && may_reopen_ && clock_.Now() - reopened_at_ >= kReopenInterval;
  return snapshot;
}

nvml::DeviceReading NvmlSource::ReadGpu(int index, const CostlyReadings& wanted, absl::Time now) {
  nvml::DeviceReading reading;
  nvml::NvmlDevice* const gpu = session_->Gpu(index, reading.failure);
  if (gpu == nullptr) {
    reading.loss = nvml::IsLoss(reading.failure) ? reading.failure : nvml::kSuccess;
    return reading;
  }
  reading = gpu->Read(wanted, now, histories_[gpu->uuid()]);
  if (reading.failure != nvml::kSuccess) session_->DropGpu(index);
  return reading;
}

void NvmlSource::AddReadable(nvml::DeviceReading reading, const CostlyReadings& wanted,
                             NodeSnapshot& snapshot) const {
  const int index = reading.samples.front().index;
  const size_t begin = snapshot.gpus.size();
  std::ranges::move(reading.samples, std::back_inserter(snapshot.gpus));
  if (!reading.mig_incomplete) return;
  const std::string parent = snapshot.gpus[begin].uuid;
  for (const GpuSample& before : last_.gpus) {
    const auto is_same = [&](const GpuSample& gpu) { return gpu.uuid == before.uuid; };
    if (before.parent_uuid != parent ||
        std::any_of(snapshot.gpus.begin() + static_cast<std::ptrdiff_t>(begin), snapshot.gpus.end(),
                    is_same)) {
      continue;
    }
    snapshot.gpus.push_back(UnreadableGpu(before, "the MIG instance cannot be found", wanted));
    snapshot.gpus.back().index = index;
  }
}

// GPUs in MIG mode have no links, nor do their instances.
void NvmlSource::AddLinkGroups(NodeSnapshot& snapshot) {
  const std::map<std::string, std::string>& groups = session_->LinkGroups(snapshot.taken_at);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    if (const auto group = groups.find(gpu.uuid); group != groups.end()) {
      gpu.link_group = group->second;
    }
  }
}

void NvmlSource::AddFailing(const std::vector<FailingIndex>& failing, const CostlyReadings& wanted,
                            NodeSnapshot& snapshot) const {
  if (failing.empty()) return;
  std::ranges::move(SamplesOf(failing, snapshot.gpus, last_.gpus, wanted),
                    std::back_inserter(snapshot.gpus));
  std::ranges::stable_sort(snapshot.gpus.Own(), {}, &GpuSample::index);
}

absl::Status NvmlSource::BackOff(const absl::Status& error) {
  if (session_ != nullptr) {
    LogWarn("nvml_dropped", {{"node", node_}, {"error", std::string(error.message())}});
    may_reopen_ = true;
  }
  session_.reset();
  reopen_ = false;
  back_off_ = std::clamp(2 * back_off_, kFirstBackOff, kLongestBackOff);
  retry_at_ = clock_.Now() + back_off_;
  error_ = error;
  return error_;
}

// An error affects this reading only: the next one tries again at once.
absl::Status NvmlSource::ReopenForFailingGpus() {
  const absl::Time begin = clock_.Now();
  reopen_ = false;
  reopened_at_ = begin;
  session_.reset();
  absl::Status opened = EnsureSession();
  may_reopen_ = opened.ok() && clock_.Now() - begin <= kMaxReopenTime;
  LogWarn("nvml_reopened", {{"node", node_},
                            {"why", "some GPUs fail"},
                            {"ok", opened.ok()},
                            {"may_reopen", may_reopen_}});
  return opened;
}

void NvmlSource::EraseGoneHistories() {
  std::erase_if(histories_, [&](const auto& history) {
    return std::ranges::none_of(last_.gpus,
                                [&](const GpuSample& gpu) { return gpu.uuid == history.first; });
  });
}

}  // namespace gpuscaler

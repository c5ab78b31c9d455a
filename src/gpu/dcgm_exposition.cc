#include "gpu/dcgm_exposition.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

constexpr int kHighestIndex = 1024;
constexpr size_t kLongestUuid = 80;
constexpr size_t kLongestText = 256;

// `other` is the name of the label with --use-old-namespace or before release 4.8.3.
std::string EitherLabel(const ExpositionSample& sample, absl::string_view one,
                        absl::string_view other) {
  std::string value = sample.Label(one);
  return value.empty() ? sample.Label(other) : value;
}

class DcgmReader {
 public:
  absl::Status Add(const ExpositionSample& sample) {
    const std::string uuid = EitherLabel(sample, "UUID", "uuid");
    if (uuid.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(Found* const found, FindOrAdd(sample, uuid));
    if (page_.driver_version.empty()) {
      page_.driver_version = sample.Label("DCGM_FI_DRIVER_VERSION").substr(0, kLongestText);
    }
    ASSIGN_OR_RETURN(DcgmHolder* const holder, HolderOf(sample, found->device));
    const std::optional<DcgmField> field = DcgmFieldOf(sample.name);
    if (field.has_value() && !IsDcgmBlank(sample.value) && sample.value >= 0) {
      Store(*field, sample.value, holder, *found);
    }
    return absl::OkStatus();
  }

  DcgmExposition Page() && {
    for (auto& [key, found] : found_) page_.devices.push_back(Merged(std::move(found)));
    std::ranges::sort(page_.devices, {}, &DcgmDevice::Order);
    return std::move(page_);
  }

 private:
  struct Found {
    DcgmDevice device;    // its values are those of lines without a pod
    DcgmValues with_pod;  // those of lines with one
  };
  using Key = std::pair<std::string, std::string>;  // the labels of GPU and instance

  static DcgmDevice Merged(Found found) {
    DcgmDevice& device = found.device;
    if (!At(device.values, DcgmField::kGpuUtilization).has_value()) {
      for (DcgmHolder& holder : device.holders) holder.utilization.reset();
    }
    for (size_t i = 0; i < device.values.size(); ++i) {
      if (!device.values[i].has_value()) device.values[i] = found.with_pod[i];
    }
    return std::move(device);
  }

  absl::StatusOr<Found*> FindOrAdd(const ExpositionSample& sample, const std::string& uuid) {
    const std::string instance = sample.Label("GPU_I_ID");
    const auto [entry, is_new] = found_.try_emplace(Key(uuid, instance));
    if (!is_new) return &entry->second;
    if (found_.size() > kMaxDcgmDevices) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxDcgmDevices, " GPUs"));
    }
    RETURN_IF_ERROR(Describe(sample, uuid, instance, entry->second.device));
    return &entry->second;
  }

  static absl::Status Describe(const ExpositionSample& sample, const std::string& uuid,
                               const std::string& instance, DcgmDevice& device) {
    device.uuid = uuid;
    device.model = sample.Label("modelName").substr(0, kLongestText);
    if (uuid.size() > kLongestUuid || !absl::SimpleAtoi(sample.Label("gpu"), &device.index) ||
        device.index < 0 || device.index > kHighestIndex) {
      return absl::InvalidArgumentError(
          absl::StrCat(sample.name, ": its labels UUID and gpu name no GPU"));
    }
    if (instance.empty()) return absl::OkStatus();
    int number = 0;
    if (!absl::SimpleAtoi(instance, &number) || number < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(sample.name, ": its label GPU_I_ID is no number"));
    }
    device.gpu_instance = number;
    device.profile = sample.Label("GPU_I_PROFILE").substr(0, kLongestLabel);
    return absl::OkStatus();
  }

  // Returns nullptr if the line names no pod.
  static absl::StatusOr<DcgmHolder*> HolderOf(const ExpositionSample& sample, DcgmDevice& device) {
    DcgmHolder holder;
    holder.namespace_name = EitherLabel(sample, "namespace", "pod_namespace");
    holder.pod = EitherLabel(sample, "pod", "pod_name");
    holder.container = EitherLabel(sample, "container", "container_name");
    holder.pod_uid = sample.Label("pod_uid");
    if (holder.pod.empty() || holder.namespace_name.empty()) return nullptr;
    if (holder.pod.size() > kLongestObjectName || holder.namespace_name.size() > kLongestLabel ||
        holder.container.size() > kLongestLabel || holder.pod_uid.size() > kLongestUuid) {
      return absl::InvalidArgumentError(
          absl::StrCat(sample.name, ": its labels namespace, pod and container name no pod"));
    }
    const auto found = std::ranges::find_if(device.holders, [&](const DcgmHolder& other) {
      return std::tie(other.namespace_name, other.pod, other.container) ==
             std::tie(holder.namespace_name, holder.pod, holder.container);
    });
    if (found != device.holders.end()) return &*found;
    if (device.holders.size() == kMaxDcgmHolders) {
      return absl::InvalidArgumentError(
          absl::StrCat("GPU ", device.index, " has more than ", kMaxDcgmHolders, " pods"));
    }
    device.holders.push_back(std::move(holder));
    return &device.holders.back();
  }

  static void Store(DcgmField field, double number, DcgmHolder* holder, Found& found) {
    if (holder == nullptr) {
      At(found.device.values, field) = number;
      return;
    }
    if (field == DcgmField::kGpuUtilization) holder->utilization = number;
    std::optional<double>& value = At(found.with_pod, field);
    if (!value.has_value()) value = number;
  }

  DcgmExposition page_;
  std::map<Key, Found> found_;
};

}  // namespace

absl::StatusOr<DcgmExposition> ReadDcgmExposition(absl::string_view page, ExpositionFormat format) {
  DcgmReader reader;
  absl::Status fault;
  RETURN_IF_ERROR(ReadPage(
      page, format, [](absl::string_view name) { return absl::StartsWith(name, "DCGM_"); },
      [&](const ExpositionSample& sample) {
        if (fault.ok()) fault = reader.Add(sample);
      }));
  RETURN_IF_ERROR(fault);
  return std::move(reader).Page();
}

}  // namespace gpuscaler

#include "gpu/exporter_exposition.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "gpu/exporter_schema.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

class ExporterReader {
 public:
  explicit ExporterReader(const ExporterSchema& schema) : schema_(schema) {}

  absl::Status Add(const ExpositionSample& sample) {
    const std::string key = schema_.key(sample);
    if (key.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(Found* const found, FindOrAdd(sample, key));
    if (page_.driver_version.empty()) {
      page_.driver_version = BeginningOf(LabelOf(sample, schema_.driver_version), kMaxExporterText);
    }
    ASSIGN_OR_RETURN(ExporterHolder* const holder, HolderOf(sample, found->device));
    const ExporterMetric* const metric = MetricOf(schema_, sample.name);
    if (metric == nullptr || schema_.is_unknown(sample.value) || sample.value < 0) {
      return absl::OkStatus();
    }
    const bool is_first = found->device.instance.value_or(0) == 0;
    if (is_first || !metric->first_instance_only) Store(*metric, sample.value, holder, *found);
    return absl::OkStatus();
  }

  absl::StatusOr<ExporterExposition> Page() && {
    std::map<std::string, int> lowest;  // index of a GPU
    for (auto& [key, found] : found_) {
      const auto [entry, is_new] = lowest.emplace(found.device.uuid, found.device.index);
      if (!is_new) entry->second = std::min(entry->second, found.device.index);
    }
    for (auto& [key, found] : found_) {
      found.device.index = lowest.at(found.device.uuid);
      page_.devices.push_back(Merged(std::move(found)));
    }
    std::ranges::sort(page_.devices, {}, &ExporterDevice::Order);
    const auto same = std::ranges::adjacent_find(page_.devices, &SameDevice);
    if (same == page_.devices.end()) return std::move(page_);
    return absl::InvalidArgumentError(absl::StrCat("two of its GPUs are ", UuidOf(*same)));
  }

 private:
  // The values of a field's metrics, by their place in the table, which is their precedence.
  struct Value {
    const ExporterMetric* metric = nullptr;
    double sum = 0;
    int lines = 0;
  };
  using FoundValues = std::array<Value, static_cast<size_t>(ExporterField::kCount)>;
  struct Found {
    ExporterDevice device;
    FoundValues without_pod;
    FoundValues with_pod;
  };

  static bool SameDevice(const ExporterDevice& one, const ExporterDevice& other) {
    return one.IsSame(other);
  }

  static ExporterDevice Merged(Found found) {
    ExporterDevice& device = found.device;
    const auto utilization = static_cast<size_t>(ExporterField::kGpuUtilization);
    if (found.without_pod[utilization].lines == 0) {
      for (ExporterHolder& holder : device.holders) holder.utilization.reset();
    }
    for (size_t i = 0; i < device.values.size(); ++i) {
      const Value& value =
          found.without_pod[i].lines > 0 ? found.without_pod[i] : found.with_pod[i];
      if (value.lines > 0) device.values[i] = value.sum / value.lines;
    }
    return std::move(device);
  }

  absl::StatusOr<Found*> FindOrAdd(const ExpositionSample& sample, const std::string& key) {
    const auto [entry, is_new] = found_.try_emplace(key);
    if (!is_new) return &entry->second;
    if (found_.size() > kMaxExporterDevices) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxExporterDevices, " GPUs"));
    }
    RETURN_IF_ERROR(schema_.describe(sample, entry->second.device));
    return &entry->second;
  }

  // Returns nullptr if the line names no pod.
  absl::StatusOr<ExporterHolder*> HolderOf(const ExpositionSample& sample,
                                           ExporterDevice& device) const {
    ExporterHolder holder;
    holder.namespace_name = LabelOf(sample, schema_.namespace_name);
    holder.pod = LabelOf(sample, schema_.pod);
    holder.container = LabelOf(sample, schema_.container);
    holder.pod_uid = LabelOf(sample, schema_.pod_uid);
    if (holder.pod.empty() || holder.namespace_name.empty()) return nullptr;
    if (holder.pod.size() > kLongestObjectName || holder.namespace_name.size() > kLongestLabel ||
        holder.container.size() > kLongestLabel || holder.pod_uid.size() > kMaxExporterId) {
      return absl::InvalidArgumentError(
          absl::StrCat(sample.name, ": its labels namespace, pod and container name no pod"));
    }
    const auto found = std::ranges::find_if(device.holders, [&](const ExporterHolder& other) {
      return std::tie(other.namespace_name, other.pod, other.container) ==
             std::tie(holder.namespace_name, holder.pod, holder.container);
    });
    if (found != device.holders.end()) return &*found;
    if (device.holders.size() == kMaxExporterHolders) {
      return absl::InvalidArgumentError(
          absl::StrCat("GPU ", device.index, " has more than ", kMaxExporterHolders, " pods"));
    }
    device.holders.push_back(std::move(holder));
    return &device.holders.back();
  }

  // The last of the lines without a pod counts, and the first of those with one.
  static void Store(const ExporterMetric& metric, double number, ExporterHolder* holder,
                    Found& found) {
    number *= metric.scale;
    if (holder != nullptr && metric.field == ExporterField::kGpuUtilization) {
      holder->utilization = number;
    }
    FoundValues& values = holder == nullptr ? found.without_pod : found.with_pod;
    Value& value = values[static_cast<size_t>(metric.field)];
    if (value.metric == &metric && metric.is_mean) {
      value.sum += number;
      ++value.lines;
    } else if (value.metric == nullptr || &metric < value.metric ||
               (value.metric == &metric && holder == nullptr)) {
      value = {.metric = &metric, .sum = number, .lines = 1};
    }
  }

  const ExporterSchema& schema_;
  ExporterExposition page_;
  std::map<std::string, Found> found_;  // key: ExporterSchema::key()'s
};

}  // namespace

const std::string& UuidOf(const ExporterDevice& device) {
  return device.instance ? device.instance_uuid : device.uuid;
}

absl::StatusOr<ExporterExposition> ReadExporterExposition(const ExporterSchema& schema,
                                                          absl::string_view page,
                                                          ExpositionFormat format) {
  ExporterReader reader(schema);
  absl::Status fault;
  RETURN_IF_ERROR(ReadPage(
      page, format,
      [&](absl::string_view name) { return absl::StrContains(name, schema.name_part); },
      [&](const ExpositionSample& sample) {
        if (fault.ok()) fault = reader.Add(sample);
      }));
  RETURN_IF_ERROR(fault);
  return std::move(reader).Page();
}

}  // namespace gpuscaler

#include "gpu/gpu_file.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu/json_line.h"
#include "gpu/json_node.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = JsonNode::Json;

constexpr double kNoLimit = std::numeric_limits<double>::max();

struct NumberKey {
  const char* key;
  GpuField field;
  std::optional<double> GpuSample::*member;
  double lowest;
  double highest;
};
constexpr NumberKey kNumberKeys[] = {
    {"utilization_percent", GpuField::kUtilization, &GpuSample::utilization_percent, 0, 100},
    {"memory_utilization_percent", GpuField::kMemoryUtilization,
     &GpuSample::memory_utilization_percent, 0, 100},
    {"temperature_celsius", GpuField::kTemperature, &GpuSample::temperature_celsius, -273, 1000},
    {"power_watts", GpuField::kPower, &GpuSample::power_watts, 0, kNoLimit},
    {"power_limit_watts", GpuField::kPowerLimit, &GpuSample::power_limit_watts, 0, kNoLimit},
    {"pcie_tx_kbps", GpuField::kPcie, &GpuSample::pcie_tx_kbps, 0, kNoLimit},
    {"pcie_rx_kbps", GpuField::kPcie, &GpuSample::pcie_rx_kbps, 0, kNoLimit},
    {"nvlink_tx_mbps", GpuField::kNvlink, &GpuSample::nvlink_tx_mbps, 0, kNoLimit},
    {"nvlink_rx_mbps", GpuField::kNvlink, &GpuSample::nvlink_rx_mbps, 0, kNoLimit},
    {"sm_activity_percent", GpuField::kSmActivity, &GpuSample::sm_activity_percent, 0, 100},
    {"dram_activity_percent", GpuField::kDramActivity, &GpuSample::dram_activity_percent, 0, 100},
    {"tensor_activity_percent", GpuField::kTensorActivity, &GpuSample::tensor_activity_percent, 0,
     100},
};

struct CountKey {
  const char* key;
  GpuField field;
  std::optional<int64_t> GpuSample::*member;
};
constexpr CountKey kCountKeys[] = {
    {"memory_used_bytes", GpuField::kMemory, &GpuSample::memory_used_bytes},
    {"memory_total_bytes", GpuField::kMemory, &GpuSample::memory_total_bytes},
    {"ecc_uncorrected_errors", GpuField::kEcc, &GpuSample::ecc_uncorrected_errors},
};

using Keys = std::vector<absl::string_view>;

const Keys& DeviceKeys() {
  static const Keys& keys = *[] {
    auto* all =
        new Keys{"index", "uuid", "name", "link_group", "throttle_reasons", "processes", "mig"};
    for (const NumberKey& row : kNumberKeys) all->push_back(row.key);
    for (const CountKey& row : kCountKeys) all->push_back(row.key);
    return all;
  }();
  return keys;
}

void AddFailedGap(GpuSample& gpu, GpuField field) {
  if (FindGap(gpu, field) != nullptr) return;
  gpu.gaps.push_back({field, GpuGap::Reason::kFailed, "null in the file"});
}

// Returns true if the key has a value. If it is null, adds a gap to `gpu`.
bool CheckReading(const JsonNode& device, absl::string_view key, GpuField field, GpuSample& gpu) {
  const Json* value = device.Find(key);
  if (value == nullptr) return false;
  if (value->is_null()) AddFailedGap(gpu, field);
  return !value->is_null();
}

absl::Status ReadText(const JsonNode& object, absl::string_view key, std::string& text) {
  if (object.Find(key) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(text, object.Member(key).Text());
  return absl::OkStatus();
}

absl::StatusOr<GpuProcess> ReadProcess(const JsonNode& node) {
  RETURN_IF_ERROR(node.CheckObject({"pid", "memory_bytes", "utilization_percent"}));
  if (node.Find("pid") == nullptr) return node.Fault("the key \"pid\" is missing");
  GpuProcess process;
  ASSIGN_OR_RETURN(process.pid, node.Member("pid").Integer(1));
  const Json* memory = node.Find("memory_bytes");
  if (memory != nullptr && !memory->is_null()) {
    ASSIGN_OR_RETURN(process.memory_bytes, node.Member("memory_bytes").Integer(0));
  }
  const Json* utilization = node.Find("utilization_percent");
  if (utilization != nullptr && !utilization->is_null()) {
    ASSIGN_OR_RETURN(process.utilization_percent,
                     node.Member("utilization_percent").Number(0, 100));
  }
  return process;
}

absl::Status ReadProcesses(const JsonNode& device, GpuSample& gpu) {
  if (!CheckReading(device, "processes", GpuField::kProcesses, gpu)) return absl::OkStatus();
  const JsonNode list = device.Member("processes");
  RETURN_IF_ERROR(list.CheckArray());
  std::vector<GpuProcess>& processes = gpu.processes.emplace();
  for (size_t i = 0; i < list.value().size(); ++i) {
    ASSIGN_OR_RETURN(processes.emplace_back(), ReadProcess(list.Element(i)));
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const JsonNode& device, const GpuSample& gpu) {
  if (!gpu.memory_total_bytes || gpu.memory_used_bytes <= gpu.memory_total_bytes) {
    return absl::OkStatus();
  }
  return device.Member("memory_used_bytes")
      .ValueFault(absl::StrCat("is more than memory_total_bytes, ", *gpu.memory_total_bytes));
}

absl::Status ReadMetrics(const JsonNode& device, GpuSample& gpu) {
  for (const NumberKey& row : kNumberKeys) {
    if (!CheckReading(device, row.key, row.field, gpu)) continue;
    ASSIGN_OR_RETURN(gpu.*row.member, device.Member(row.key).Number(row.lowest, row.highest));
  }
  for (const CountKey& row : kCountKeys) {
    if (!CheckReading(device, row.key, row.field, gpu)) continue;
    ASSIGN_OR_RETURN(gpu.*row.member, device.Member(row.key).Integer(0));
  }
  RETURN_IF_ERROR(CheckMemory(device, gpu));
  if (CheckReading(device, "throttle_reasons", GpuField::kThrottle, gpu)) {
    const JsonNode reasons = device.Member("throttle_reasons");
    if (!reasons.value().is_number_unsigned()) {
      return reasons.ValueFault("is not a bit set, a whole number from 0 up");
    }
    gpu.throttle_reasons = reasons.value().get<uint64_t>();
  }
  return ReadProcesses(device, gpu);
}

// Parses the GPUs of one frame.
class FrameParser {
 public:
  absl::StatusOr<std::vector<GpuSample>> Parse(const JsonNode& frame) {
    if (frame.Find("gpus") == nullptr) return frame.Fault("the key \"gpus\" is missing");
    const JsonNode list = frame.Member("gpus");
    RETURN_IF_ERROR(list.CheckArray());
    std::vector<GpuSample> gpus;
    for (size_t i = 0; i < list.value().size(); ++i) {
      RETURN_IF_ERROR(ReadGpu(list.Element(i), i, gpus));
    }
    std::ranges::stable_sort(gpus, {}, &GpuSample::index);
    return gpus;
  }

 private:
  // Adds the GPU and then its MIG instances.
  absl::Status ReadGpu(const JsonNode& node, size_t position, std::vector<GpuSample>& gpus) {
    RETURN_IF_ERROR(node.CheckObject(DeviceKeys()));
    GpuSample gpu;
    gpu.index = static_cast<int>(position);
    if (node.Find("index") != nullptr) {
      ASSIGN_OR_RETURN(const int64_t index, node.Member("index").Integer(0));
      if (index > std::numeric_limits<int>::max()) {
        return node.Member("index").ValueFault("is too large");
      }
      gpu.index = static_cast<int>(index);
    }
    if (!indices_.insert(gpu.index).second) {
      return node.Fault(absl::StrCat("index ", gpu.index, " is another GPU's already"));
    }
    gpu.uuid = absl::StrCat("GPU-sim-", gpu.index);
    RETURN_IF_ERROR(ReadDevice(node, gpu));
    gpu.is_in_mig_mode = node.Find("mig") != nullptr;
    gpus.push_back(gpu);
    if (node.Find("mig") == nullptr) return absl::OkStatus();
    return ReadMig(node.Member("mig"), gpu, gpus);
  }

  absl::Status ReadMig(const JsonNode& instances, const GpuSample& parent,
                       std::vector<GpuSample>& gpus) {
    RETURN_IF_ERROR(instances.CheckArray());
    for (size_t i = 0; i < instances.value().size(); ++i) {
      const JsonNode node = instances.Element(i);
      RETURN_IF_ERROR(node.CheckObject(DeviceKeys()));
      for (const char* key : {"index", "link_group", "mig"}) {
        if (node.Find(key) == nullptr) continue;
        return node.Member(key).Fault("a MIG instance has none of its own");
      }
      GpuSample gpu;
      gpu.index = parent.index;
      gpu.parent_uuid = parent.uuid;
      gpu.name = parent.name;
      gpu.uuid = absl::StrCat("MIG-sim-", parent.index, "-", i);
      RETURN_IF_ERROR(ReadDevice(node, gpu));
      gpus.push_back(std::move(gpu));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDevice(const JsonNode& node, GpuSample& gpu) {
    RETURN_IF_ERROR(ReadText(node, "uuid", gpu.uuid));
    RETURN_IF_ERROR(ReadText(node, "name", gpu.name));
    RETURN_IF_ERROR(ReadText(node, "link_group", gpu.link_group));
    if (gpu.uuid.empty()) return node.Member("uuid").Fault("is empty");
    if (!uuids_.insert(gpu.uuid).second) {
      return node.Fault(absl::StrCat("uuid \"", gpu.uuid, "\" is another GPU's already"));
    }
    return ReadMetrics(node, gpu);
  }

  std::set<int> indices_;
  std::set<std::string> uuids_;
};

constexpr double kShortestFrameSeconds = 0.1;
constexpr double kLongestFrameSeconds = 86400;

absl::StatusOr<GpuFrame> ReadTimedFrame(const JsonNode& node) {
  RETURN_IF_ERROR(node.CheckObject({"seconds", "gpus"}));
  if (node.Find("seconds") == nullptr) return node.Fault("the key \"seconds\" is missing");
  ASSIGN_OR_RETURN(const double seconds,
                   node.Member("seconds").Number(kShortestFrameSeconds, kLongestFrameSeconds));
  GpuFrame frame;
  frame.duration = absl::Seconds(seconds);
  ASSIGN_OR_RETURN(frame.snapshot.gpus, FrameParser().Parse(node));
  return frame;
}

absl::StatusOr<std::vector<GpuFrame>> ReadFrames(const JsonNode& top) {
  RETURN_IF_ERROR(top.CheckObject({"driver_version", "gpus", "frames"}));
  std::vector<GpuFrame> frames;
  if (top.Find("frames") == nullptr) {
    ASSIGN_OR_RETURN(frames.emplace_back().snapshot.gpus, FrameParser().Parse(top));
    return frames;
  }
  if (top.Find("gpus") != nullptr) return top.Member("gpus").Fault("there are frames already");
  const JsonNode list = top.Member("frames");
  RETURN_IF_ERROR(list.CheckArray());
  if (list.value().empty()) return list.Fault("is empty");
  for (size_t i = 0; i < list.value().size(); ++i) {
    ASSIGN_OR_RETURN(frames.emplace_back(), ReadTimedFrame(list.Element(i)));
  }
  return frames;
}

// Returns "3:14: syntax error ..." for nlohmann's "[json.exception.parse_error.101] parse error at
// line 3, column 14: syntax error ...".
std::string ParseErrorText(absl::string_view text, const Json::parse_error& error) {
  const size_t before = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
  const absl::string_view read = text.substr(0, before);
  const size_t newline = read.rfind('\n');
  const size_t column = newline == absl::string_view::npos ? before + 1 : before - newline;
  const absl::string_view what = error.what();
  const size_t problem = what.find("syntax error");
  return absl::StrCat(1 + std::count(read.begin(), read.end(), '\n'), ":", column, ": ",
                      problem == absl::string_view::npos ? what : what.substr(problem));
}

}  // namespace

absl::StatusOr<std::vector<GpuFrame>> ParseGpuFile(absl::string_view text) {
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(ParseErrorText(text, error));
  } catch (const Json::out_of_range&) {  // 1e999
    return absl::InvalidArgumentError(
        absl::StrCat(JsonErrorLine(text), ": a number is out of range"));
  }
  const JsonNode top(text, json);
  ASSIGN_OR_RETURN(std::vector<GpuFrame> frames, ReadFrames(top));
  std::string driver_version;
  RETURN_IF_ERROR(ReadText(top, "driver_version", driver_version));
  for (GpuFrame& frame : frames) frame.snapshot.driver_version = driver_version;
  return frames;
}

const GpuFrame& FrameAt(const std::vector<GpuFrame>& frames, absl::Duration age) {
  absl::Duration cycle;
  for (const GpuFrame& frame : frames) cycle += frame.duration;
  absl::Duration left = age % cycle;
  for (const GpuFrame& frame : frames) {
    if (left < frame.duration) return frame;
    left -= frame.duration;
  }
  return frames.back();
}

}  // namespace gpuscaler

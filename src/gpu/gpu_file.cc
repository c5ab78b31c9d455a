#include "gpu/gpu_file.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "base/number_text.h"
#include "base/status_macros.h"
#include "gpu/json_line.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

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
    auto* all = new Keys{"index", "uuid", "name", "throttle_reasons", "processes", "mig"};
    for (const NumberKey& row : kNumberKeys) all->push_back(row.key);
    for (const CountKey& row : kCountKeys) all->push_back(row.key);
    return all;
  }();
  return keys;
}

std::string Shown(const Json& value) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 40 ? text : absl::StrCat(text.substr(0, 37), "...");
}

void AddFailedGap(GpuSample& gpu, GpuField field) {
  if (FindGap(gpu, field) != nullptr) return;
  gpu.gaps.push_back({field, GpuGap::Reason::kFailed, "null in the file"});
}

// One object of the text and where it stands in it.
struct Place {
  const Json& object;
  std::string path;  // "" for the whole text

  // Null when the key is missing.
  const Json* Find(const char* key) const {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  std::string Path(absl::string_view key) const {
    return path.empty() ? std::string(key) : absl::StrCat(path, ".", key);
  }
};

// No member is called so; JsonLine then tells where the reading stopped.
constexpr char kNoPath[] = "]";

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<NodeSnapshot> Parse(const Json& json) {
    const Place top{json, ""};
    RETURN_IF_ERROR(CheckObject(top, {"driver_version", "gpus"}));
    NodeSnapshot node;
    RETURN_IF_ERROR(ReadText(top, "driver_version", node.driver_version));
    const Json* gpus = top.Find("gpus");
    if (gpus == nullptr) return Fault("", "the key \"gpus\" is missing");
    RETURN_IF_ERROR(CheckArray(top, "gpus", *gpus));
    for (size_t i = 0; i < gpus->size(); ++i) {
      RETURN_IF_ERROR(ReadGpu({(*gpus)[i], absl::StrCat("gpus[", i, "]")}, i, node.gpus));
    }
    std::ranges::stable_sort(node.gpus, {}, &GpuSample::index);
    return node;
  }

 private:
  absl::Status Fault(const std::string& path, absl::string_view problem) const {
    return absl::InvalidArgumentError(
        absl::StrCat(JsonLine(text_, path), ": ", path, path.empty() ? "" : ": ", problem));
  }

  absl::Status CheckObject(const Place& place, const Keys& known) const {
    if (!place.object.is_object()) {
      return Fault(place.path, absl::StrCat(Shown(place.object), " is not an object"));
    }
    for (const auto& [key, value] : place.object.items()) {
      if (std::ranges::find(known, absl::string_view(key)) != known.end()) continue;
      return Fault(place.Path(key), absl::StrCat("unknown key", DidYouMean(key, known)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckArray(const Place& parent, const char* key, const Json& value) const {
    if (value.is_array()) return absl::OkStatus();
    return Fault(parent.Path(key), absl::StrCat(Shown(value), " is not an array"));
  }

  absl::Status ReadText(const Place& place, const char* key, std::string& text) const {
    const Json* value = place.Find(key);
    if (value == nullptr) return absl::OkStatus();
    if (!value->is_string()) {
      return Fault(place.Path(key), absl::StrCat(Shown(*value), " is not a string"));
    }
    text = value->get<std::string>();
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Whole(const Place& place, const char* key, int64_t lowest) const {
    const Json& value = *place.Find(key);
    const bool fits =
        value.is_number_integer() && (!value.is_number_unsigned() ||
                                      value.get<uint64_t>() <= std::numeric_limits<int64_t>::max());
    if (fits && value.get<int64_t>() >= lowest) return value.get<int64_t>();
    return Fault(place.Path(key),
                 absl::StrCat(Shown(value), " is not a whole number from ", lowest, " up"));
  }

  // The GPU and, right behind it, its MIG instances.
  absl::Status ReadGpu(const Place& place, size_t position, std::vector<GpuSample>& gpus) {
    RETURN_IF_ERROR(CheckObject(place, DeviceKeys()));
    GpuSample gpu;
    gpu.index = static_cast<int>(position);
    if (place.Find("index") != nullptr) {
      ASSIGN_OR_RETURN(const int64_t index, Whole(place, "index", 0));
      if (index > std::numeric_limits<int>::max()) {
        return Fault(place.Path("index"), absl::StrCat(index, " is too large"));
      }
      gpu.index = static_cast<int>(index);
    }
    if (!indices_.insert(gpu.index).second) {
      return Fault(place.path, absl::StrCat("index ", gpu.index, " is another GPU's already"));
    }
    gpu.uuid = absl::StrCat("GPU-sim-", gpu.index);
    RETURN_IF_ERROR(ReadDevice(place, gpu));
    gpus.push_back(gpu);
    return ReadMig(place, gpu, gpus);
  }

  absl::Status ReadMig(const Place& parent, const GpuSample& parent_gpu,
                       std::vector<GpuSample>& gpus) {
    const Json* instances = parent.Find("mig");
    if (instances == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(CheckArray(parent, "mig", *instances));
    for (size_t i = 0; i < instances->size(); ++i) {
      const Place place{(*instances)[i], absl::StrCat(parent.path, ".mig[", i, "]")};
      RETURN_IF_ERROR(CheckObject(place, DeviceKeys()));
      for (const char* key : {"index", "mig"}) {
        if (place.Find(key) == nullptr) continue;
        return Fault(place.Path(key), "a MIG instance has none of its own");
      }
      GpuSample gpu;
      gpu.index = parent_gpu.index;
      gpu.parent_uuid = parent_gpu.uuid;
      gpu.uuid = absl::StrCat("MIG-sim-", parent_gpu.index, "-", i);
      RETURN_IF_ERROR(ReadDevice(place, gpu));
      gpus.push_back(std::move(gpu));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDevice(const Place& place, GpuSample& gpu) {
    RETURN_IF_ERROR(ReadText(place, "uuid", gpu.uuid));
    RETURN_IF_ERROR(ReadText(place, "name", gpu.name));
    if (gpu.uuid.empty()) return Fault(place.Path("uuid"), "is empty");
    if (!uuids_.insert(gpu.uuid).second) {
      return Fault(place.path, absl::StrCat("uuid \"", gpu.uuid, "\" is another GPU's already"));
    }
    for (const NumberKey& row : kNumberKeys) RETURN_IF_ERROR(ReadNumber(place, row, gpu));
    for (const CountKey& row : kCountKeys) RETURN_IF_ERROR(ReadCount(place, row, gpu));
    if (gpu.memory_used_bytes && gpu.memory_total_bytes &&
        *gpu.memory_used_bytes > *gpu.memory_total_bytes) {
      return Fault(place.Path("memory_used_bytes"),
                   absl::StrCat(*gpu.memory_used_bytes, " is more than memory_total_bytes, ",
                                *gpu.memory_total_bytes));
    }
    RETURN_IF_ERROR(ReadThrottleReasons(place, gpu));
    return ReadProcesses(place, gpu);
  }

  absl::Status ReadNumber(const Place& place, const NumberKey& row, GpuSample& gpu) const {
    const Json* value = place.Find(row.key);
    if (value == nullptr) return absl::OkStatus();
    if (value->is_null()) {
      AddFailedGap(gpu, row.field);
      return absl::OkStatus();
    }
    if (value->is_number()) {
      const double number = value->get<double>();
      if (number >= row.lowest && number <= row.highest) {
        gpu.*row.member = number;
        return absl::OkStatus();
      }
    }
    const std::string up_to =
        row.highest == kNoLimit ? " up" : absl::StrCat(" to ", NumberText(row.highest));
    return Fault(place.Path(row.key), absl::StrCat(Shown(*value), " is not a number from ",
                                                   NumberText(row.lowest), up_to));
  }

  absl::Status ReadCount(const Place& place, const CountKey& row, GpuSample& gpu) const {
    const Json* value = place.Find(row.key);
    if (value == nullptr) return absl::OkStatus();
    if (value->is_null()) {
      AddFailedGap(gpu, row.field);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(gpu.*row.member, Whole(place, row.key, 0));
    return absl::OkStatus();
  }

  absl::Status ReadThrottleReasons(const Place& place, GpuSample& gpu) const {
    const Json* value = place.Find("throttle_reasons");
    if (value == nullptr) return absl::OkStatus();
    if (value->is_null()) {
      AddFailedGap(gpu, GpuField::kThrottle);
      return absl::OkStatus();
    }
    if (!value->is_number_unsigned()) {
      return Fault(place.Path("throttle_reasons"),
                   absl::StrCat(Shown(*value), " is not a bit set, a whole number from 0 up"));
    }
    gpu.throttle_reasons = value->get<uint64_t>();
    return absl::OkStatus();
  }

  absl::Status ReadProcesses(const Place& parent, GpuSample& gpu) const {
    const Json* list = parent.Find("processes");
    if (list == nullptr) return absl::OkStatus();
    if (list->is_null()) {
      AddFailedGap(gpu, GpuField::kProcesses);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(CheckArray(parent, "processes", *list));
    std::vector<GpuProcess>& processes = gpu.processes.emplace();
    for (size_t i = 0; i < list->size(); ++i) {
      const Place place{(*list)[i], absl::StrCat(parent.path, ".processes[", i, "]")};
      RETURN_IF_ERROR(CheckObject(place, {"pid", "memory_bytes"}));
      if (place.Find("pid") == nullptr) return Fault(place.path, "the key \"pid\" is missing");
      GpuProcess process;
      ASSIGN_OR_RETURN(process.pid, Whole(place, "pid", 1));
      const Json* memory = place.Find("memory_bytes");
      if (memory != nullptr && !memory->is_null()) {
        ASSIGN_OR_RETURN(process.memory_bytes, Whole(place, "memory_bytes", 0));
      }
      processes.push_back(process);
    }
    return absl::OkStatus();
  }

  const absl::string_view text_;
  std::set<int> indices_;
  std::set<std::string> uuids_;
};

// "3:14: syntax error ..." of nlohmann's "[json.exception.parse_error.101] parse error at line 3,
// column 14: syntax error ...".
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

absl::StatusOr<NodeSnapshot> ParseGpuFile(absl::string_view text) {
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(ParseErrorText(text, error));
  } catch (const Json::out_of_range&) {  // 1e999
    return absl::InvalidArgumentError(
        absl::StrCat(JsonLine(text, kNoPath), ": a number is out of range"));
  }
  return Parser(text).Parse(json);
}

}  // namespace gpuscaler

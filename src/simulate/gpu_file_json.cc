#include "nlohmann/json.hpp"
#include "simulate/inference_service.h"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

void Put(Json& gpu, const char* key, const auto& value) {
  if (value) gpu[key] = *value;
}

Json ProcessesJson(const std::vector<GpuProcess>& processes) {
  Json list = Json::array();
  for (const GpuProcess& process : processes) {
    list.push_back({{"pid", process.pid}});
    Put(list.back(), "memory_bytes", process.memory_bytes);
  }
  return list;
}

}  // namespace

std::string GpuFileJson(const NodeSnapshot& snapshot) {
  Json gpus = Json::array();
  for (const GpuSample& sample : snapshot.gpus) {
    Json gpu = {{"index", sample.index}, {"uuid", sample.uuid}, {"name", sample.name}};
    Put(gpu, "utilization_percent", sample.utilization_percent);
    Put(gpu, "memory_utilization_percent", sample.memory_utilization_percent);
    Put(gpu, "memory_used_bytes", sample.memory_used_bytes);
    Put(gpu, "memory_total_bytes", sample.memory_total_bytes);
    Put(gpu, "temperature_celsius", sample.temperature_celsius);
    Put(gpu, "power_watts", sample.power_watts);
    Put(gpu, "power_limit_watts", sample.power_limit_watts);
    Put(gpu, "nvlink_tx_mbps", sample.nvlink_tx_mbps);
    Put(gpu, "nvlink_rx_mbps", sample.nvlink_rx_mbps);
    if (sample.processes) gpu["processes"] = ProcessesJson(*sample.processes);
    gpus.push_back(std::move(gpu));
  }
  return Json{{"driver_version", snapshot.driver_version}, {"gpus", std::move(gpus)}}.dump(1);
}

}  // namespace gpuscaler

// Expositions as AMD's device-metrics-exporter 1.5.2 renders them, with the labels that it always
// has (pkg/amdgpu/gpuagent/gpuagent_gpu_metrics.go), in client_golang's order.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct TestAmdExporterGpu {
  int id = 0;
  std::string serial_number = "692251001124";
  std::string model = "102-G30211-0C";
  std::string compute_partitions = "spx";  // "none": the GPU cannot be divided
  std::string memory_partitions = "nps1";
  std::string partition = "0";
  std::string pod;  // in the namespace shop; "": none
};

inline std::string AmdLine(absl::string_view name, const TestAmdExporterGpu& gpu,
                           absl::string_view value, absl::string_view more = "") {
  const bool is_held = !gpu.pod.empty();
  return absl::StrCat(
      name, "{card_model=\"", gpu.model, "\",container=\"", is_held ? "main" : "",
      "\",deployment_mode=\"baremetal\",gpu_compute_partition_type=\"", gpu.compute_partitions,
      "\",gpu_id=\"", gpu.id, "\",gpu_memory_partition_type=\"", gpu.memory_partitions,
      "\",gpu_partition_id=\"", gpu.partition, "\",",
      "hostname=\"gpu-7\",job_id=\"\",job_partition=\"\",job_user=\"\",namespace=\"",
      is_held ? "shop" : "", "\",pod=\"", gpu.pod, "\",serial_number=\"", gpu.serial_number, "\"",
      more, "} ", value, "\n");
}

// An MI210 has no busy lines, and its power and temperature under other names than MI300X.
inline std::string AmdMi210(const TestAmdExporterGpu& gpu, int activity, absl::string_view energy) {
  return absl::StrCat(
      AmdLine("gpu_average_package_power", gpu, "147"), AmdLine("gpu_edge_temperature", gpu, "45"),
      AmdLine("gpu_gfx_activity", gpu, absl::StrCat(activity)),
      AmdLine("gpu_umc_activity", gpu, "33"), AmdLine("gpu_energy_consumed", gpu, energy),
      AmdLine("gpu_power_usage", gpu, "150"), AmdLine("gpu_total_vram", gpu, "65520"),
      AmdLine("gpu_used_vram", gpu, "10304"));
}

// The value of each compute die: 8 of a whole MI300X.
inline std::string AmdBusyLines(const TestAmdExporterGpu& gpu, const std::vector<int>& dies) {
  std::string lines;
  for (size_t i = 0; i < dies.size(); ++i) {
    absl::StrAppend(&lines, AmdLine("gpu_gfx_busy_instantaneous", gpu, absl::StrCat(dies[i]),
                                    absl::StrCat(",xcc_index=\"", i, "\"")));
  }
  return lines;
}

inline std::string AmdMi300x(const TestAmdExporterGpu& gpu, int activity,
                             const std::vector<int>& dies, absl::string_view energy) {
  return absl::StrCat(
      AmdLine("gpu_package_power", gpu, "512"), AmdLine("gpu_junction_temperature", gpu, "65"),
      AmdLine("gpu_memory_temperature", gpu, "48"),
      AmdLine("gpu_gfx_activity", gpu, absl::StrCat(activity)),
      AmdLine("gpu_umc_activity", gpu, "21"), AmdBusyLines(gpu, dies),
      AmdLine("gpu_energy_consumed", gpu, energy), AmdLine("gpu_power_usage", gpu, "515"),
      AmdLine("gpu_total_vram", gpu, "196592"), AmdLine("gpu_used_vram", gpu, "98304"),
      AmdLine("gpu_ecc_uncorrect_total", gpu, "2"));
}

// A partition other than 0 has no sensors. Its power is 0.
inline std::string AmdPartition(const TestAmdExporterGpu& gpu, int busy) {
  return absl::StrCat(AmdLine("gpu_package_power", gpu, "0"), AmdLine("gpu_power_usage", gpu, "0"),
                      AmdBusyLines(gpu, {busy}), AmdLine("gpu_total_vram", gpu, "24574"),
                      AmdLine("gpu_used_vram", gpu, "12288"));
}

// A line of the node, which has no GPU.
inline std::string AmdNodeLine(int gpus) {
  return absl::StrCat("# HELP gpu_nodes_total Number of GPUs in the node\n",
                      "# TYPE gpu_nodes_total gauge\n", "gpu_nodes_total{hostname=\"gpu-7\"} ",
                      gpus, "\n");
}

}  // namespace gpuscaler

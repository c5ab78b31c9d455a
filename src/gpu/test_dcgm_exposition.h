// Expositions as dcgm-exporter renders them: internal/pkg/rendermetrics/render_metrics.go of 4.8.2.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

constexpr char kTestUuid0[] = "GPU-00000000-1111-2222-3333-444444444444";
constexpr char kTestUuid1[] = "GPU-11111111-1111-2222-3333-444444444444";

// Every line of a GPU has these labels.
inline std::string DcgmLabels(int gpu, absl::string_view uuid, absl::string_view more = "") {
  return absl::StrCat("gpu=\"", gpu, "\",UUID=\"", uuid, "\",pci_bus_id=\"00000000:0", gpu + 1,
                      ":00.0\",device=\"nvidia", gpu, "\",modelName=\"NVIDIA H200\"", more,
                      ",Hostname=\"gpu-7\",DCGM_FI_DRIVER_VERSION=\"570.124.06\"");
}

inline std::string InstanceLabels(int gpu, absl::string_view uuid, int instance,
                                  absl::string_view more = "") {
  return DcgmLabels(gpu, uuid,
                    absl::StrCat(",GPU_I_PROFILE=\"1g.18gb\",GPU_I_ID=\"", instance, "\"", more));
}

inline std::string PodLabels(absl::string_view pod, absl::string_view container = "main") {
  return absl::StrCat(",container=\"", container, "\",namespace=\"shop\",pod=\"", pod, "\"");
}

inline std::string DcgmLine(absl::string_view name, absl::string_view labels,
                            absl::string_view value) {
  return absl::StrCat(name, "{", labels, "} ", value, "\n");
}

struct TestDcgmGpu {
  std::string labels;
  int utilization = 0;
  int used_mib = 0;
  int energy_mj = 1000;
};

// The families are those that scaling needs, each with a line per GPU.
inline std::string DcgmExpositionOf(const std::vector<TestDcgmGpu>& gpus) {
  std::string page =
      "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n";
  for (const TestDcgmGpu& gpu : gpus) {
    page += DcgmLine("DCGM_FI_DEV_GPU_UTIL", gpu.labels, absl::StrCat(gpu.utilization));
  }
  page += "# TYPE DCGM_FI_DEV_FB_USED gauge\n";
  for (const TestDcgmGpu& gpu : gpus) {
    page += DcgmLine("DCGM_FI_DEV_FB_USED", gpu.labels, absl::StrCat(gpu.used_mib));
  }
  page += "# TYPE DCGM_FI_DEV_FB_FREE gauge\n";
  for (const TestDcgmGpu& gpu : gpus) {
    page += DcgmLine("DCGM_FI_DEV_FB_FREE", gpu.labels, absl::StrCat(100'000 - gpu.used_mib));
  }
  page += "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n";
  for (const TestDcgmGpu& gpu : gpus) {
    page +=
        DcgmLine("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu.labels, absl::StrCat(gpu.energy_mj));
  }
  return page;
}

}  // namespace gpuscaler

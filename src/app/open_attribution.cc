#include "app/open_attribution.h"

#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "workload/kubelet_socket.h"

namespace gpuscaler {

std::unique_ptr<KubeletAttribution> OpenAttribution(const Config& config, const Clock& clock) {
  std::error_code error;
  if (config.attribution == AttributionMode::kAuto) {
    if (const std::string is = InPlaceOfSocket(config.pod_resources_socket); !is.empty()) {
      LogWarn("no_kubelet_socket", {{"path", config.pod_resources_socket},
                                    {"is", is},
                                    {"consequence", "no kubelet is asked who holds a GPU"}});
    }
  }
  const bool is_wanted = config.attribution == AttributionMode::kKubelet ||
                         (config.attribution == AttributionMode::kAuto &&
                          std::filesystem::is_socket(config.pod_resources_socket, error));
  if (!is_wanted) return nullptr;
  return std::make_unique<KubeletAttribution>(clock, config.Sockets());
}

}  // namespace gpuscaler

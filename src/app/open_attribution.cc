#include "app/open_attribution.h"

#include <filesystem>
#include <system_error>

namespace gpuscaler {

std::unique_ptr<KubeletAttribution> OpenAttribution(const Config& config, const Clock& clock) {
  std::error_code error;
  const bool is_wanted = config.attribution == AttributionMode::kKubelet ||
                         (config.attribution == AttributionMode::kAuto &&
                          std::filesystem::is_socket(config.pod_resources_socket, error));
  if (!is_wanted) return nullptr;
  return std::make_unique<KubeletAttribution>(clock, config.Sockets());
}

}  // namespace gpuscaler

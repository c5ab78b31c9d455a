#include "role/open_attribution.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_split.h"
#include "base/log.h"
#include "kubelet/kubelet_socket.h"
#include "role/ignored_pods.h"

namespace gpuscaler {

namespace {

AttributionMode WithoutKubelet(const Config& config) {
  return ExporterOf(config.gpu_source) != nullptr ? AttributionMode::kPage : AttributionMode::kNone;
}

}  // namespace

AttributionMode AttributionHere(const Config& config) {
  if (config.attribution != AttributionMode::kAuto) return config.attribution;
  const ExporterSchema* const exporter = ExporterOf(config.gpu_source);
  if (exporter != nullptr && !exporter->has_kubelet_ids) return AttributionMode::kPage;
  const std::string& path = config.pod_resources_socket;
  if (const std::string is = InPlaceOfSocket(path); !is.empty()) {
    LogWarn("no_kubelet_socket",
            {{"path", path},
             {"is", is},
             {"consequence", "the holders of GPUs are not read from the kubelet"}});
    return WithoutKubelet(config);
  }
  std::error_code error;  // if the folder may not be searched, the type is `none`, not `not_found`
  const bool is_absent =
      std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found;
  return is_absent ? WithoutKubelet(config) : AttributionMode::kKubelet;
}

std::unique_ptr<KubeletAttribution> OpenAttribution(const Config& config, const Clock& clock) {
  if (AttributionHere(config) != AttributionMode::kKubelet) return nullptr;
  // The value was checked with the configuration.
  return std::make_unique<KubeletAttribution>(
      clock, config.Sockets(), kKubeletTimeout, NodeFolders(), config.own_pod,
      ParseIgnoredPods(config.ignore_pods).value(),
      absl::StrSplit(config.reservation_namespaces, ',', absl::SkipEmpty()));
}

}  // namespace gpuscaler

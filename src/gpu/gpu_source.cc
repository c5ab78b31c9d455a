#include "gpu/gpu_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "base/status_macros.h"
#include "gpu/amd_exporter_schema.h"
#include "gpu/amd_source.h"
#include "gpu/auto_source.h"
#include "gpu/dcgm_schema.h"
#include "gpu/exporter_source.h"
#include "gpu/file_source.h"
#include "gpu/no_source.h"
#include "gpu/nvml_source.h"

namespace gpuscaler {
namespace {

std::unique_ptr<GpuSource> OpenNvml(const std::string& node, const Clock& clock) {
  return std::make_unique<NvmlSource>(nvml::LibraryPaths(), node, clock);
}

absl::StatusOr<HttpEndpoint> UrlOf(const ExporterSchema& exporter, absl::string_view spec) {
  return ParseExporterUrl(absl::StripPrefix(spec, exporter.scheme), exporter.port);
}

}  // namespace

absl::Status CheckGpuSource(absl::string_view spec) {
  static const std::vector<absl::string_view>& words =
      *new std::vector<absl::string_view>{"auto", "nvml", "amd", "none"};
  if (std::ranges::find(words, spec) != words.end()) return absl::OkStatus();
  if (const ExporterSchema* const exporter = ExporterOf(spec)) {
    return UrlOf(*exporter, spec).status();
  }
  if (absl::ConsumePrefix(&spec, "file:") && !spec.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("use auto, nvml, amd, file:PATH, dcgm:URL, amd-exporter:URL or none",
                   DidYouMean(spec, words)));
}

const ExporterSchema* ExporterOf(absl::string_view spec) {
  for (const ExporterSchema* const schema : {&DcgmSchema(), &AmdExporterSchema()}) {
    if (absl::StartsWith(spec, schema->scheme)) return schema;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<GpuSource>> OpenGpuSource(const std::string& spec,
                                                         const std::string& node,
                                                         const Clock& clock,
                                                         const ExporterOptions& options,
                                                         const std::string& sysfs_root) {
  if (const absl::Status checked = CheckGpuSource(spec); !checked.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", spec, "\": ", checked.message()));
  }
  if (spec == "nvml") return OpenNvml(node, clock);
  if (spec == "amd") return std::make_unique<AmdSource>(sysfs_root, node, clock);
  if (spec == "auto") {
    return std::make_unique<AutoSource>(
        OpenNvml(node, clock), std::make_unique<AmdSource>(sysfs_root, node, clock), sysfs_root);
  }
  if (spec == "none") return std::make_unique<NoSource>();
  if (const ExporterSchema* const exporter = ExporterOf(spec)) {
    ASSIGN_OR_RETURN(HttpEndpoint endpoint, UrlOf(*exporter, spec));
    return std::make_unique<ExporterSource>(*exporter, std::move(endpoint), options.access,
                                            options.names_pods, node, clock);
  }
  return std::make_unique<FileSource>(std::string(absl::StripPrefix(spec, "file:")), node, clock);
}

}  // namespace gpuscaler

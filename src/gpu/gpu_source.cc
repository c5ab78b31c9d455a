#include "gpu/gpu_source.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "gpu/file_source.h"
#include "gpu/no_source.h"
#include "gpu/nvml_source.h"

namespace gpuscaler {

absl::StatusOr<std::unique_ptr<GpuSource>> OpenGpuSource(const std::string& spec,
                                                         const std::string& node,
                                                         const Clock& clock) {
  if (spec == "auto" || spec == "nvml") {
    return std::make_unique<NvmlSource>(nvml::LibraryPlaces(), node, clock);
  }
  if (spec == "none") return std::make_unique<NoSource>();
  absl::string_view path = spec;
  if (absl::ConsumePrefix(&path, "file:") && !path.empty()) {
    return std::make_unique<FileSource>(std::string(path), node, clock);
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", spec,
                                                 "\": use auto, nvml, file:PATH or none",
                                                 DidYouMean(spec, {"auto", "nvml", "none"})));
}

}  // namespace gpuscaler

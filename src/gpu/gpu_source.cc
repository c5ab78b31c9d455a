#include "gpu/gpu_source.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "gpu/file_source.h"
#include "gpu/no_source.h"
#include "gpu/nvml_source.h"

namespace gpuscaler {

absl::Status CheckGpuSource(absl::string_view spec) {
  static const std::vector<absl::string_view>& words =
      *new std::vector<absl::string_view>{"auto", "nvml", "none"};
  if (std::ranges::find(words, spec) != words.end()) return absl::OkStatus();
  if (absl::ConsumePrefix(&spec, "file:") && !spec.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("use auto, nvml, file:PATH or none", DidYouMean(spec, words)));
}

absl::StatusOr<std::unique_ptr<GpuSource>> OpenGpuSource(const std::string& spec,
                                                         const std::string& node,
                                                         const Clock& clock) {
  if (const absl::Status checked = CheckGpuSource(spec); !checked.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", spec, "\": ", checked.message()));
  }
  if (spec == "auto" || spec == "nvml") {
    return std::make_unique<NvmlSource>(nvml::LibraryPlaces(), node, clock);
  }
  if (spec == "none") return std::make_unique<NoSource>();
  return std::make_unique<FileSource>(std::string(absl::StripPrefix(spec, "file:")), node, clock);
}

}  // namespace gpuscaler

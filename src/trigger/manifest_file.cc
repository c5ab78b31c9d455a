#include "trigger/manifest_file.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "base/nearest.h"
#include "base/status_macros.h"
#include "trigger/yaml_objects.h"

namespace gpuscaler {
namespace {

// False for similar kinds of other projects, such as HTTPScaledObject.
bool MayBeOfKeda(const YAML::Node& object) {
  const std::string version = ScalarOf(Child(object, "apiVersion"));
  return version.empty() || absl::StartsWith(version, "keda.sh/");
}

}  // namespace

absl::string_view CorrectedKind(absl::string_view kind) {
  const std::vector<absl::string_view> kinds = {"ScaledObject", "ScaledJob"};
  if (kind.empty() || std::ranges::find(kinds, kind) != kinds.end()) return "";
  for (const absl::string_view known : kinds) {
    if (absl::EqualsIgnoreCase(known, kind)) return known;
  }
  return Nearest(kind, kinds);
}

absl::StatusOr<ManifestFile> ReadManifestFile(absl::string_view yaml) {
  ManifestFile file;
  RETURN_IF_ERROR(ForEachObject(yaml, [&file](const YAML::Node& object, int lines_before) {
    if (auto manifest = ManifestIn(object, lines_before)) {
      file.manifests.push_back(*std::move(manifest));
      return;
    }
    AddObject(object, file.related_objects);
    const YAML::Node kind = Child(object, "kind");
    if (file.mistyped_kind || CorrectedKind(ScalarOf(kind)).empty() || !MayBeOfKeda(object)) return;
    file.mistyped_kind = {.text = ScalarOf(kind), .line = lines_before + kind.Mark().line + 1};
  }));
  return file;
}

}  // namespace gpuscaler

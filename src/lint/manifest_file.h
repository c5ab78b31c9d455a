// A file of manifests, as lint and query take it.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lint/manifest.h"
#include "lint/surroundings.h"

namespace gpuscaler {

struct ManifestFile {
  std::vector<Manifest> manifests;  // ScaledObjects and ScaledJobs; other kinds are passed over
  Surroundings surroundings;        // what else it has
  // The first kind of an object that is almost one of these: "Scaledobject".
  std::optional<TextAt> mistyped_kind;
};

// Every document, objects in a List too. INVALID_ARGUMENT names the line where it stops being YAML.
absl::StatusOr<ManifestFile> ReadManifestFile(absl::string_view yaml);

// "ScaledObject", of a kind that is almost that; empty: of any other, and of that itself.
absl::string_view KindAlmost(absl::string_view kind);

}  // namespace gpuscaler

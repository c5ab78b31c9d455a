// A file of Kubernetes manifests, input of lint and query.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trigger/manifest.h"
#include "trigger/related_objects.h"

namespace gpuscaler {

struct ManifestFile {
  std::vector<Manifest> manifests;  // ScaledObjects and ScaledJobs; other kinds are skipped
  RelatedObjects related_objects;   // the other objects
  // The first kind that is misspelled: "Scaledobject".
  std::optional<LocatedText> mistyped_kind;
};

// Reads every document, including the objects of a List. Returns INVALID_ARGUMENT with the line at
// which it is not YAML.
absl::StatusOr<ManifestFile> ReadManifestFile(absl::string_view yaml);

// Returns "ScaledObject" or "ScaledJob" for a misspelled kind, else "".
absl::string_view CorrectedKind(absl::string_view kind);

}  // namespace gpuscaler

// ScaledObjects and ScaledJobs as they are in a file. Each value has its line, so that findings can
// point at it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace YAML {
class Node;
}

namespace gpuscaler {

// Lines are 1-based.
struct LocatedText {
  std::string text;
  int line = 1;
  bool is_string = true;  // false: a number, bool, null or list, which is no valid metadata value
};

struct LocatedInt {
  int value = 0;
  int line = 1;
};

struct ManifestFallback {
  int line = 1;
  LocatedText behavior;  // KEDA's default: "static"
  std::optional<LocatedInt> replicas;
};

struct ManifestTrigger {
  int line = 1;
  std::string name;  // used in formulas; empty: none
  std::string type;
  LocatedText metric_type;  // KEDA's default: "AverageValue"
  std::map<std::string, LocatedText, std::less<>> metadata;

  bool IsExternal() const;  // external or external-push

  const LocatedText* ScalerAddress() const;  // null: not given

  // Returns the line of the first of `keys` that the trigger has, or the trigger's own line if it
  // has none of them.
  int LineOf(const std::vector<absl::string_view>& keys) const;
};

struct Manifest {
  bool is_job = false;
  std::string name;  // empty: not in the file; same for namespace_name
  std::string namespace_name;
  int line = 1;
  std::string target_kind;  // KEDA's default: "Deployment"
  std::string target_name;  // empty: a job, or not given
  std::optional<LocatedInt> min_replicas;
  std::optional<LocatedInt> max_replicas;
  std::optional<LocatedInt> idle_replicas;
  bool has_replica_placeholder = false;  // minReplicaCount or idleReplicaCount is a placeholder
  std::optional<LocatedInt> cooldown_seconds;
  std::optional<LocatedInt> polling_seconds;
  std::optional<ManifestFallback> fallback;
  std::optional<LocatedText> formula;  // scalingModifiers.formula
  std::vector<ManifestTrigger> triggers;

  std::string Title() const;  // "ScaledObject default/llm"
};

// Returns nullopt if the object is of another kind. Its document starts after `lines_before` lines
// of the file.
std::optional<Manifest> ManifestIn(const YAML::Node& object, int lines_before);

// Returns true if the text has ${NAME}, $NAME, $(NAME) or {{ .name }}, which Flux, envsubst or Helm
// replaces before the file is applied, so that its value is unknown.
bool HasPlaceholder(absl::string_view text);

}  // namespace gpuscaler

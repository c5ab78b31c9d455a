// ScaledObjects and ScaledJobs as a file has them, with the line of everything one may point at.
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
struct TextAt {
  std::string text;
  int line = 1;
  bool is_string = true;  // false: a number, a truth value, nothing, a list: no metadata value
};

struct NumberAt {
  int value = 0;
  int line = 1;
};

struct ManifestFallback {
  int line = 1;
  TextAt behavior;  // "static" where it is not given, as KEDA has it
  std::optional<NumberAt> replicas;
};

struct ManifestTrigger {
  int line = 1;
  std::string name;  // for a formula; empty: it has none
  std::string type;
  TextAt metric_type;  // "AverageValue" where it is not given, as KEDA has it
  std::map<std::string, TextAt, std::less<>> metadata;

  bool IsExternal() const;  // of type external or external-push

  const TextAt* ScalerAddress() const;  // null: it has none

  // Where the first of `keys` is that the trigger has; the trigger's own line otherwise.
  int LineOf(const std::vector<absl::string_view>& keys) const;
};

struct Manifest {
  bool is_job = false;
  std::string name;  // empty where the file has none, as the namespace
  std::string namespace_name;
  int line = 1;
  std::string target_kind;  // "Deployment" where it is not given, as KEDA has it
  std::string target_name;  // what is scaled; empty: a job, or not given
  std::optional<NumberAt> min_replicas;
  std::optional<NumberAt> max_replicas;
  std::optional<NumberAt> idle_replicas;
  bool fills_in_replicas = false;  // the least or idle number is a placeholder
  std::optional<NumberAt> cooldown_seconds;
  std::optional<NumberAt> polling_seconds;
  std::optional<ManifestFallback> fallback;
  std::optional<TextAt> formula;  // of scalingModifiers
  std::vector<ManifestTrigger> triggers;

  std::string Title() const;  // "ScaledObject default/llm"
};

// Of an object, whose document stands behind so many lines; empty: it is of another kind.
std::optional<Manifest> ManifestIn(const YAML::Node& object, int lines_before);

}  // namespace gpuscaler

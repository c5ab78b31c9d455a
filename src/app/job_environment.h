// Which job or pod this process runs in, and which GPUs are its own, as the environment tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/settings.h"

namespace gpuscaler {

enum class EnvironmentKind { kStandalone, kKubernetes, kSlurm, kFlux };
absl::string_view Name(EnvironmentKind kind);  // "standalone", "k8s", "slurm", "flux"

// An empty field is unknown: the environment does not say.
struct JobEnvironment {
  EnvironmentKind kind = EnvironmentKind::kStandalone;
  std::string job;
  std::string job_name;
  std::optional<int> rank;        // within the job
  std::optional<int> local_rank;  // within the node
  std::string node;
  std::string namespace_name;
  std::string pod;

  // The job's own GPUs: indices, UUIDs or prefixes of UUIDs. Empty: not told. An empty list: none.
  std::optional<std::vector<std::string>> gpus;
  std::string gpus_from;  // the variable that tells
};

// One variable that is read, for docs. Where several tell the same, the first that is set counts.
struct JobVariable {
  absl::string_view name;
  std::optional<EnvironmentKind> kind;  // where it is read; empty: in any
  absl::string_view help;
};
std::vector<JobVariable> JobVariables();

// Of the innermost of several: Flux runs inside SLURM, and both inside pods.
EnvironmentKind DetectEnvironment(const Environment& environment);

JobEnvironment ReadJobEnvironment(EnvironmentKind kind, const Environment& environment);

}  // namespace gpuscaler

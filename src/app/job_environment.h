// The job or pod that this process runs in, and its own GPUs, from environment variables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "role/settings.h"

namespace gpuscaler {

enum class EnvironmentKind { kStandalone, kKubernetes, kSlurm, kFlux };
absl::string_view Name(EnvironmentKind kind);  // "standalone", "k8s", "slurm", "flux"

// An empty field is unknown: no variable has it.
struct JobEnvironment {
  EnvironmentKind kind = EnvironmentKind::kStandalone;
  std::string job;
  std::string job_name;
  std::string partition;          // SLURM's
  std::optional<int> rank;        // within the job
  std::optional<int> local_rank;  // within the node
  std::string node;
  std::string namespace_name;
  std::string pod;

  // The job's own GPUs: indices, UUIDs or prefixes of UUIDs. nullopt: unknown. An empty list: none.
  std::optional<std::vector<std::string>> gpus;
  std::string gpus_from;  // the variable with `gpus`
};

// A variable that is read. If several have the same field, the first that is set counts.
struct JobVariable {
  absl::string_view name;
  std::optional<EnvironmentKind> kind;  // the only one that reads it; empty: all
  absl::string_view help;
  // The field with its value. None: it only identifies the environment.
  std::variant<std::monostate, std::string JobEnvironment::*, std::optional<int> JobEnvironment::*,
               std::optional<std::vector<std::string>> JobEnvironment::*>
      field = {};
};
std::span<const JobVariable> JobVariables();

// Returns the innermost environment: Flux runs inside SLURM, and both inside pods.
EnvironmentKind DetectEnvironment(const Environment& environment);

JobEnvironment ReadJobEnvironment(EnvironmentKind kind, const Environment& environment);

}  // namespace gpuscaler

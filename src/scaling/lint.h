// What will not work, said before it is applied.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scaling/profile.h"

namespace gpuscaler {

struct Finding {
  enum class Severity { kError, kWarning };
  Severity severity;
  std::string rule;     // "percent-target-high": stable, for SARIF
  std::string message;  // what is wrong and what to write instead
  std::string object;   // "ScaledObject default/llm, trigger 0"
  int line = 1;         // 1-based, in the file
};

// Every trigger of ours in a YAML file of one or more ScaledObjects and ScaledJobs; other kinds are
// passed over. INVALID_ARGUMENT when it is not YAML.
absl::StatusOr<std::vector<Finding>> Lint(absl::string_view yaml, const Profiles& profiles);

// Every rule, for docs and SARIF.
struct LintRule {
  absl::string_view id;
  Finding::Severity severity;
  absl::string_view help;
};
std::vector<LintRule> LintRules();

}  // namespace gpuscaler

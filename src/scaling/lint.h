// What will not work, said before it is applied.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scaling/profile.h"
#include "scaling/surroundings.h"

namespace gpuscaler {

struct Finding {
  enum class Severity { kError, kWarning, kNote };  // a note is nothing to mend
  Severity severity;
  std::string rule;     // "percent-target-high": stable, for SARIF
  std::string message;  // what is wrong and what to write instead
  std::string object;   // "ScaledObject default/llm, trigger 0"
  int line = 1;         // 1-based, in the file
};
absl::string_view Name(Finding::Severity severity);  // "warning", as compilers and SARIF call it

// Every trigger of ours in a YAML file of one or more ScaledObjects and ScaledJobs; an external one
// that is not known for ours gets a note, and other kinds are passed over. `our_hosts` are ours
// besides those with "gpu-scaler" in them; "scaler" stands for scaler.keda.svc as well. `beside`
// is what other files have that are applied with it. INVALID_ARGUMENT when it is not YAML.
absl::StatusOr<std::vector<Finding>> Lint(absl::string_view yaml, const Profiles& profiles,
                                          const std::vector<std::string>& our_hosts = {},
                                          const Surroundings& beside = {});

// Every rule, for docs and SARIF.
struct LintRule {
  absl::string_view id;
  Finding::Severity severity;
  absl::string_view help;
};
std::vector<LintRule> LintRules();

}  // namespace gpuscaler

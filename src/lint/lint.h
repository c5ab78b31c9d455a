// What will not work, said before it is applied.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lint/manifest_file.h"
#include "model/signal_source.h"
#include "trigger/profile.h"

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

// What a file is checked against, besides itself.
struct LintContext {
  std::vector<std::string> our_hosts;  // of our scaler, besides those with "gpu-scaler" in them
  Surroundings beside;                 // what is applied with it; its own may be among that
  bool objects_beside = false;         // a ScaledObject or ScaledJob among these
  bool finds_engines = false;          // agents look for those that nobody named
  // Whether the scaler would read what a trigger names, as CheckSource (signal/source_place.h)
  // says. Null: not asked.
  // `page_key` as CheckSource's.
  std::function<absl::Status(const SignalSource&, absl::string_view page_key)> check_source;
};

// Every trigger of ours in a file of one or more ScaledObjects and ScaledJobs; an external one that
// is not known for ours gets a note, as a file with none of these does, and other kinds are passed
// over. The host "scaler" stands for scaler.keda.svc as well.
std::vector<Finding> Lint(const ManifestFile& file, const Profiles& profiles,
                          const LintContext& context = {});

// Every rule, for docs and SARIF.
struct LintRule {
  absl::string_view id;
  Finding::Severity severity;
  absl::string_view help;
};
std::vector<LintRule> LintRules();

}  // namespace gpuscaler

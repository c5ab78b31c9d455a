// Lint: finds mistakes in ScaledObjects and ScaledJobs before they are applied.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/signal_source.h"
#include "trigger/manifest_file.h"
#include "trigger/profile.h"

namespace gpuscaler {

struct Finding {
  enum class Severity { kError, kWarning, kNote };  // a note needs no fix
  Severity severity;
  std::string rule;     // "percent-target-high": stable, for SARIF
  std::string message;  // the mistake and its fix
  std::string object;   // "ScaledObject default/llm, trigger 0"
  int line = 1;         // 1-based, in the file
};
absl::string_view Name(Finding::Severity severity);  // "warning", as compilers and SARIF spell it

// The context in which a file is checked.
struct LintContext {
  std::vector<std::string> our_hosts;  // this scaler's, besides those that contain "gpu-scaler"
  RelatedObjects applied_with;         // with the file; may include its own objects
  bool has_objects_beside = false;     // `applied_with` came with a ScaledObject or ScaledJob
  bool finds_engines = false;          // agents discover engines without an endpoint
  // Returns the error that the scaler would return for this source: CheckSource
  // (signal/source_place.h) with its `endpoint_key`. Null: not checked.
  std::function<absl::Status(const SignalSource&, absl::string_view endpoint_key)> check_source;
};

// An external trigger that is not recognized as this scaler's gets a note, as does a file without
// any ScaledObject or ScaledJob. Other kinds are ignored. An entry "scaler" of `our_hosts` matches
// scaler.keda.svc as well.
std::vector<Finding> Lint(const ManifestFile& file, const Profiles& profiles,
                          const LintContext& context = {});

// All rules, for docs and SARIF.
struct LintRule {
  absl::string_view id;
  Finding::Severity severity;
  absl::string_view help;
};
std::vector<LintRule> LintRules();

}  // namespace gpuscaler

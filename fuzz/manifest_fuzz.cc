// Manifests for lint, often from untrusted authors in CI.
#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "fuzz_assert.h"
#include "trigger/lint.h"

namespace gpuscaler {
namespace {

bool IsRule(const std::string& id) {
  static const auto& rules = *new std::vector<LintRule>(LintRules());
  return std::ranges::any_of(rules, [&](const LintRule& rule) { return rule.id == id; });
}

void CheckFile(absl::string_view yaml) {
  const auto file = ReadManifestFile(yaml);
  if (!file.ok()) {
    FUZZ_ASSERT(absl::IsInvalidArgument(file.status()));
    FUZZ_ASSERT(absl::StartsWith(file.status().message(), "line "));
    return;
  }
  // A final line break starts one more line.
  const auto lines = 1 + std::ranges::count(yaml, '\n');
  const LintContext context = {.applied_with = file->related_objects, .finds_engines = true};
  for (const Finding& finding : Lint(*file, BuiltInProfiles(), context)) {
    FUZZ_ASSERT(IsRule(finding.rule) && !finding.message.empty());
    FUZZ_ASSERT(finding.line >= 1 && finding.line <= lines);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckFile({reinterpret_cast<const char*>(data), size});
  return 0;
}

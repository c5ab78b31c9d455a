// `lint`: checks manifests before they are applied.
#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/input_file.h"
#include "app/lint_report.h"
#include "base/status_macros.h"
#include "config/options.h"
#include "lint/lint.h"
#include "role/signal_reader.h"
#include "signal/source_place.h"

namespace gpuscaler {
namespace {

struct LintFlags {
  std::vector<Setting> given;
  std::string format = "text";
  std::vector<std::string> hosts;
};

absl::StatusOr<Profiles> ProfilesOf(const std::string& path) {
  if (path.empty()) return BuiltInProfiles();
  ASSIGN_OR_RETURN(const std::string yaml, ReadInput(path));
  auto profiles = ParseProfiles(yaml);
  if (profiles.ok()) return profiles;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", profiles.status().message()));
}

struct InputManifests {
  std::string path;
  absl::StatusOr<ManifestFile> file;
};

absl::StatusOr<ManifestFile> ManifestsIn(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string yaml, ReadInput(path));
  auto file = ReadManifestFile(yaml);
  if (file.ok()) return file;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", file.status().message()));
}

// Reads each file once, since one may be standard input.
std::vector<InputManifests> InputsOf(const std::vector<std::string>& paths) {
  std::vector<InputManifests> inputs;
  for (const std::string& path : paths) inputs.push_back({path, ManifestsIn(path)});
  return inputs;
}

// Collects the objects of all files: a ScaledObject may name a Service in another file.
void SetBeside(const std::vector<InputManifests>& inputs, LintContext& context) {
  for (const InputManifests& input : inputs) {
    if (!input.file.ok()) continue;
    context.applied_with.Add(input.file->related_objects);
    context.has_objects_beside |= !input.file->manifests.empty();
  }
}

bool HasFindingToFix(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.severity != Finding::Severity::kNote;
  });
}

std::string Render(const std::string& format, const std::vector<FileFindings>& files) {
  if (format == "json") return LintJson(files);
  if (format == "sarif") return LintSarif(files);
  return LintText(files);
}

int Run(const LintFlags& flags, const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return Fail("keda-gpu-scaler lint",
                absl::InvalidArgumentError("which FILE? - is standard input"), kExitUsage);
  }
  const auto resolved = ResolveSettings(flags.given, CurrentEnvironment());
  if (!resolved.ok()) return Fail("keda-gpu-scaler lint", resolved.status(), kExitUsage);
  const auto profiles = ProfilesOf(resolved->config.profiles);
  if (!profiles.ok())
    return Fail("keda-gpu-scaler lint", NameLayer(*resolved, profiles.status()), kExitUsage);
  int code = kExitOk;
  std::vector<FileFindings> files;
  const std::vector<InputManifests> inputs = InputsOf(paths);
  LintContext context = {
      .our_hosts = flags.hosts,
      .finds_engines = resolved->config.discover_engines == DiscoverEngines::kTrue,
      .check_source = [rules = EndpointRulesOf(resolved->config)](const SignalSource& source,
                                                                  absl::string_view endpoint_key) {
        // The value of prometheusMetricFromEnv is unknown here, so lint does not check it.
        return CheckSource(source, rules, endpoint_key, "prometheusMetric");
      }};
  SetBeside(inputs, context);
  for (const InputManifests& input : inputs) {
    if (!input.file.ok()) {
      code = Fail("keda-gpu-scaler lint", input.file.status(), kExitUsage);
      continue;
    }
    files.push_back({.path = input.path, .findings = Lint(*input.file, *profiles, context)});
    if (HasFindingToFix(files.back().findings)) code = std::max<int>(code, kExitFindings);
  }
  std::cout << Render(flags.format, files) << std::flush;
  return code;
}

}  // namespace

Command LintCommand() {
  const auto flags = std::make_shared<LintFlags>();
  Command command = {
      .name = "lint",
      .help = "Check ScaledObject and ScaledJob manifests before they are applied.",
      .arguments = "FILE...",
      .flags = {WordFlag("format", "FORMAT", "Format of the findings.", {"text", "json", "sarif"},
                         &flags->format),
                ListFlag("scaler-address", "HOST",
                         "Host of a scalerAddress that is this scaler, besides those with "
                         "gpu-scaler in them; may be given again for another.",
                         &flags->hosts)},
      .run = [flags](const std::vector<std::string>& paths) { return Run(*flags, paths); }};
  for (Flag& flag : ConfigFlags(kLintUses, &flags->given)) command.flags.push_back(std::move(flag));
  return command;
}

}  // namespace gpuscaler

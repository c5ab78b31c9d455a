// `lint`: checks manifests before they are applied.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/input_file.h"
#include "app/lint_report.h"
#include "base/status_macros.h"
#include "role/options.h"
#include "role/signal_reader.h"
#include "signal/source_place.h"
#include "trigger/lint.h"

namespace gpuscaler {
namespace {

struct LintFlags {
  std::vector<Setting> given;
  std::string format = "text";
  std::vector<std::string> hosts;
};

// Returns the files of manifests in a folder and those below it, by name.
absl::StatusOr<std::vector<std::string>> ManifestsIn(const std::string& folder) {
  constexpr std::array<absl::string_view, 3> kExtensions = {".yaml", ".yml", ".json"};
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    if (std::ranges::count(kExtensions, entry->path().extension().string()) == 0) continue;
    if (!entry->is_directory(error)) files.push_back(entry->path().string());
  }
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be read: ", error.message()));
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": no file in this folder ends in .yaml, .yml or .json"));
  }
  std::ranges::sort(files);
  return files;
}

// Replaces each folder with its files.
absl::StatusOr<std::vector<std::string>> FilesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> found, ManifestsIn(path));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Collects the objects of all files: a ScaledObject may name a Service in another file.
void SetBeside(const std::vector<absl::StatusOr<ManifestFile>>& inputs, LintContext& context) {
  for (const absl::StatusOr<ManifestFile>& input : inputs) {
    if (!input.ok()) continue;
    context.applied_with.Add(input->related_objects);
    context.has_objects_beside |= !input->manifests.empty();
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

int Run(const LintFlags& flags, const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    return Fail("keda-gpu-scaler lint",
                absl::InvalidArgumentError("which FILE or FOLDER? - is standard input"),
                kExitUsage);
  }
  const absl::StatusOr<std::vector<std::string>> found = FilesOf(arguments);
  if (!found.ok()) return Fail("keda-gpu-scaler lint", found.status(), kExitUsage);
  const std::vector<std::string>& paths = *found;
  const auto resolved = ResolveSettings(flags.given, CurrentEnvironment());
  if (!resolved.ok()) return Fail("keda-gpu-scaler lint", resolved.status(), kExitUsage);
  const std::string& own_profiles = resolved->config.profiles;
  const absl::StatusOr<Profiles> profiles = own_profiles.empty()
                                                ? absl::StatusOr<Profiles>(BuiltInProfiles())
                                                : ParseInput(own_profiles, ParseProfiles);
  if (!profiles.ok())
    return Fail("keda-gpu-scaler lint", NameLayer(*resolved, profiles.status()), kExitUsage);
  int code = kExitOk;
  std::vector<FileFindings> files;
  std::vector<absl::StatusOr<ManifestFile>> inputs;  // each is read once: it may be standard input
  for (const std::string& path : paths) inputs.push_back(ParseInput(path, ReadManifestFile));
  LintContext context = {
      .our_hosts = flags.hosts,
      .finds_engines = resolved->config.discover_engines == DiscoverEngines::kTrue,
      .check_source = [rules = EndpointRulesOf(resolved->config)](const SignalSource& source,
                                                                  absl::string_view endpoint_key) {
        // The value of prometheusMetricFromEnv is unknown here, so lint does not check it.
        return CheckSource(source, rules, endpoint_key, "prometheusMetric");
      }};
  SetBeside(inputs, context);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!inputs[i].ok()) {
      code = Fail("keda-gpu-scaler lint", inputs[i].status(), kExitUsage);
      continue;
    }
    files.push_back({.path = paths[i], .findings = Lint(*inputs[i], *profiles, context)});
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
      .arguments = "FILE|FOLDER...",
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

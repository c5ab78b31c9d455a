// `lint`: says what will not work before it is applied.
#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "app/commands.h"
#include "app/demand_reading.h"
#include "app/input_file.h"
#include "app/lint_report.h"
#include "app/options.h"
#include "base/status_macros.h"
#include "scaling/lint.h"
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

struct InputText {
  std::string path;
  absl::StatusOr<std::string> yaml;
};

// Each is read once: one may be standard input.
std::vector<InputText> TextsOf(const std::vector<std::string>& paths) {
  std::vector<InputText> texts;
  for (const std::string& path : paths) texts.push_back({path, ReadInput(path)});
  return texts;
}

// Of all files: a ScaledObject may be in one, and the Service that it names in another.
Surroundings SurroundingsIn(const std::vector<InputText>& texts) {
  Surroundings all;
  for (const InputText& text : texts) {
    if (!text.yaml.ok()) continue;
    const auto found = ReadSurroundings(*text.yaml);
    if (found.ok()) all.Add(*found);  // who lints it says what is wrong
  }
  return all;
}

absl::StatusOr<FileFindings> FindingsIn(const InputText& text, const Profiles& profiles,
                                        const LintContext& context) {
  RETURN_IF_ERROR(text.yaml.status());
  auto findings = Lint(*text.yaml, profiles, context);
  if (findings.ok()) return FileFindings{.path = text.path, .findings = *std::move(findings)};
  return absl::InvalidArgumentError(absl::StrCat(text.path, ": ", findings.status().message()));
}

bool HasSomethingToMend(const std::vector<Finding>& findings) {
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
    return Fail("lint", absl::InvalidArgumentError("which FILE? - is standard input"), kExitUsage);
  }
  const auto resolved = ResolveSettings(flags.given, CurrentEnvironment());
  if (!resolved.ok()) return Fail("lint", resolved.status(), kExitUsage);
  const auto profiles = ProfilesOf(resolved->config.profiles);
  if (!profiles.ok()) return Fail("lint", NameLayer(*resolved, profiles.status()), kExitUsage);
  int code = kExitOk;
  std::vector<FileFindings> files;
  const std::vector<InputText> texts = TextsOf(paths);
  const LintContext context = {
      .our_hosts = flags.hosts,
      .beside = SurroundingsIn(texts),
      .check_source = [rules = EndpointRulesOf(resolved->config)](const SignalSource& source) {
        return CheckSource(source, rules);
      }};
  for (const InputText& text : texts) {
    auto file = FindingsIn(text, *profiles, context);
    if (!file.ok()) {
      code = Fail("lint", file.status(), kExitUsage);
      continue;
    }
    if (HasSomethingToMend(file->findings)) code = std::max<int>(code, kExitFindings);
    files.push_back(*std::move(file));
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

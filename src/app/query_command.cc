// `query`: makes KEDA's calls to a running scaler.
#include <future>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "app/client_flags.h"
#include "app/commands.h"
#include "app/input_file.h"
#include "app/query_report.h"

namespace gpuscaler {
namespace {

struct QueryFlags {
  ScalerClientOptions client;
  std::string file;
  std::string name = "query";
  std::string namespace_name = "default";
  std::string format = "text";
  int replicas = -1;
  bool explain = false;
};

absl::StatusOr<std::vector<TriggerQuery>> TriggerOfWords(const QueryFlags& flags,
                                                         const std::vector<std::string>& words) {
  TriggerQuery query;
  query.ref = {.name = flags.name, .namespace_name = flags.namespace_name, .metadata = {}};
  query.title = absl::StrCat("ScaledObject ", flags.namespace_name, "/", flags.name);
  for (const std::string& word : words) {
    const std::vector<std::string> pair = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (pair.size() != 2 || pair[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\": use KEY=VALUE, such as profile=vllm-inference"));
    }
    if (!query.ref.metadata.emplace(pair[0], pair[1]).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\": ", pair[0], " is given twice"));
    }
  }
  const auto type = query.ref.metadata.find("targetType");
  if (type != query.ref.metadata.end() && type->second == "Value") {
    query.target_type = TargetType::kValue;
  }
  return std::vector<TriggerQuery>{query};
}

absl::StatusOr<std::vector<TriggerQuery>> Triggers(const QueryFlags& flags,
                                                   const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("the scaler's ADDRESS is missing, such as localhost:6000");
  }
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (flags.file.empty()) return TriggerOfWords(flags, words);
  if (words.empty()) return ParseInput(flags.file, TriggersOfYaml);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", words.front(), "\": metadata comes from --file, or from KEY=VALUE words"));
}

// GetMetricSpec never fails if a scaler was reached.
bool Reached(const QueryReport& report) {
  const absl::Status& status = report.spec.status();
  return !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status) &&
         !absl::IsUnimplemented(status);
}

absl::StatusOr<MetricSpec> GetSpec(const ScalerClient& client, const std::string& address,
                                   const TriggerRef& trigger) {
  auto spec = client.GetMetricSpec(trigger);
  if (!absl::IsUnimplemented(spec.status())) return spec;
  return absl::UnimplementedError(
      absl::StrCat(address, " answers, and is no external scaler (an agent's port?)"));
}

// Must be called only for a scaler that answers KEDA's calls.
absl::StatusOr<gpuscaler::v1::Explanation> GetExplanation(const ScalerClient& client,
                                                          const TriggerRef& trigger) {
  auto explanation = client.Explain(trigger);
  if (!absl::IsUnimplemented(explanation.status())) return explanation;
  return absl::UnimplementedError("another scaler than this one, or too old: it explains nothing");
}

// Makes the calls concurrently, since each may wait 1.5 s for a snapshot.
void MakeCalls(const ScalerClient& client, bool explain, QueryReport& report) {
  const TriggerRef& trigger = report.trigger.ref;
  auto active = std::async(std::launch::async, [&] { return client.IsActive(trigger); });
  std::future<absl::StatusOr<gpuscaler::v1::Explanation>> explanation;
  if (explain) {
    explanation = std::async(std::launch::async, [&] { return GetExplanation(client, trigger); });
  }
  report.value = client.GetMetrics(trigger, report.spec.ok() ? report.spec->metric_name : "");
  report.active = active.get();
  if (explanation.valid()) report.explanation = explanation.get();
}

// Each call makes its own decision. If the results differ, all calls are repeated, so that the
// explanation matches the value.
QueryReport RunQuery(const ScalerClient& client, const std::string& address,
                     const QueryFlags& flags, const TriggerQuery& trigger) {
  constexpr int kTries = 3;
  QueryReport report;
  report.trigger = trigger;
  if (flags.replicas >= 0) report.replicas = flags.replicas;
  report.spec = GetSpec(client, address, trigger.ref);
  if (!Reached(report)) {
    report.value = report.spec.status();
    report.active = report.spec.status();
    return report;
  }
  for (int tried = 0; tried < kTries; ++tried) {
    MakeCalls(client, flags.explain, report);
    if (IsConsistent(report)) break;
  }
  return report;
}

int CodeOf(const std::vector<QueryReport>& reports) {
  int code = kExitOk;
  for (const QueryReport& report : reports) {
    if (!Reached(report)) return kExitUnavailable;
    if (!report.spec.ok() || !report.value.ok() || !report.active.ok()) code = kExitFindings;
  }
  return code;
}

int Run(const QueryFlags& flags, const std::vector<std::string>& arguments) {
  const auto triggers = Triggers(flags, arguments);
  if (!triggers.ok()) return Fail("keda-gpu-scaler query", triggers.status(), kExitUsage);
  const auto client = OpenClient(arguments.front(), flags.client);
  if (!client.ok()) return Fail("keda-gpu-scaler query", client.status(), kExitUsage);
  std::vector<QueryReport> reports;
  for (const TriggerQuery& trigger : *triggers) {
    reports.push_back(RunQuery(**client, arguments.front(), flags, trigger));
    if (flags.format != "text") continue;
    const bool is_separate = flags.explain && reports.size() > 1;
    std::cout << (is_separate ? "\n" : "") << QueryText(reports.back()) << std::flush;
  }
  if (flags.format == "json") std::cout << QueryJson(reports) << std::flush;
  return CodeOf(reports);
}

}  // namespace

Command QueryCommand() {
  const auto flags = std::make_shared<QueryFlags>();
  Command command = {
      .name = "query",
      .help = "Send a running scaler the requests that KEDA would send.",
      .arguments = "ADDRESS [KEY=VALUE...]",
      .flags = {TextFlag("file", "FILE",
                         "ScaledObject manifest to take the metadata from; -: standard input.",
                         &flags->file),
                TextFlag("name", "NAME", "ScaledObject's name, without --file.", &flags->name),
                TextFlag("namespace", "NAME", "Its namespace, without --file.",
                         &flags->namespace_name),
                IntFlag("replicas",
                        "Show what the HPA would do with so many replicas; -1: leave out.", {-1},
                        &flags->replicas),
                SwitchFlag("explain", "Show why, replica by replica.", &flags->explain),
                WordFlag("format", "FORMAT", "Format of the answers.", {"text", "json"},
                         &flags->format)},
      .run = [flags](const std::vector<std::string>& arguments) { return Run(*flags, arguments); }};
  for (Flag& flag : ClientFlags(&flags->client)) command.flags.push_back(std::move(flag));
  return command;
}

}  // namespace gpuscaler

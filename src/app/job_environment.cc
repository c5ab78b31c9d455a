#include "app/job_environment.h"

#include <array>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

std::string Value(const Environment& environment, absl::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::optional<int> Number(const Environment& environment, absl::string_view name) {
  int number = 0;
  if (!absl::SimpleAtoi(Value(environment, name), &number)) return std::nullopt;
  return number;
}

// "0-3" as SLURM abbreviates indices; any other entry is itself.
void AppendEntry(absl::string_view entry, std::vector<std::string>& entries) {
  const std::vector<absl::string_view> ends = absl::StrSplit(entry, absl::MaxSplits('-', 1));
  int first = 0;
  int last = 0;
  if (ends.size() == 2 && absl::SimpleAtoi(ends[0], &first) && absl::SimpleAtoi(ends[1], &last) &&
      last - first < 1024) {
    for (int index = first; index <= last; ++index) entries.push_back(absl::StrCat(index));
    return;
  }
  entries.emplace_back(entry);
}

// CUDA reads the list up to the first entry that is no device (-1, SLURM's NoDevFiles).
std::vector<std::string> Entries(absl::string_view list) {
  std::vector<std::string> entries;
  for (absl::string_view entry : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry == "-1" || entry == "NoDevFiles" || entry == "none" || entry == "void") break;
    AppendEntry(entry, entries);
  }
  return entries;
}

// The first variable that says something. CUDA_VISIBLE_DEVICES says "none" by being empty, which
// SLURM's never are.
void ReadGpus(const Environment& environment, std::span<const absl::string_view> variables,
              JobEnvironment& job) {
  for (const absl::string_view variable : variables) {
    const auto found = environment.find(variable);
    if (found == environment.end()) continue;
    if (found->second.empty() && variable != "CUDA_VISIBLE_DEVICES") continue;
    job.gpus = Entries(found->second);
    job.gpus_from = std::string(variable);
    return;
  }
}

// https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
void ReadSlurm(const Environment& environment, JobEnvironment& job) {
  static constexpr std::array<absl::string_view, 4> kGpus = {
      "SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"};
  job.job = Value(environment, "SLURM_JOB_ID");
  job.job_name = Value(environment, "SLURM_JOB_NAME");
  job.rank = Number(environment, "SLURM_PROCID");
  job.local_rank = Number(environment, "SLURM_LOCALID");
  job.node = Value(environment, "SLURMD_NODENAME");
  ReadGpus(environment, kGpus, job);
}

// https://flux-framework.readthedocs.io: flux-environment(7); GPUs by the shell's gpu-affinity
void ReadFlux(const Environment& environment, JobEnvironment& job) {
  static constexpr std::array<absl::string_view, 1> kGpus = {"CUDA_VISIBLE_DEVICES"};
  job.job = Value(environment, "FLUX_JOB_ID");
  job.job_name = Value(environment, "FLUX_JOB_NAME");
  job.rank = Number(environment, "FLUX_TASK_RANK");
  job.local_rank = Number(environment, "FLUX_TASK_LOCAL_ID");
  ReadGpus(environment, kGpus, job);
}

}  // namespace

absl::string_view Name(EnvironmentKind kind) {
  switch (kind) {
    case EnvironmentKind::kStandalone:
      return "standalone";
    case EnvironmentKind::kKubernetes:
      return "k8s";
    case EnvironmentKind::kSlurm:
      return "slurm";
    case EnvironmentKind::kFlux:
      break;
  }
  return "flux";
}

EnvironmentKind DetectEnvironment(const Environment& environment) {
  if (environment.contains("FLUX_JOB_ID")) return EnvironmentKind::kFlux;
  if (environment.contains("SLURM_JOB_ID")) return EnvironmentKind::kSlurm;
  if (environment.contains("KUBERNETES_SERVICE_HOST")) return EnvironmentKind::kKubernetes;
  return EnvironmentKind::kStandalone;
}

JobEnvironment ReadJobEnvironment(EnvironmentKind kind, const Environment& environment) {
  JobEnvironment job;
  job.kind = kind;
  job.pod = Value(environment, "POD_NAME");
  job.namespace_name = Value(environment, "POD_NAMESPACE");
  if (kind == EnvironmentKind::kSlurm) ReadSlurm(environment, job);
  if (kind == EnvironmentKind::kFlux) ReadFlux(environment, job);
  // A pod's host name is the pod's, unless it shares the node's.
  const bool in_pod = kind == EnvironmentKind::kKubernetes;
  if (in_pod && job.pod.empty()) job.pod = Value(environment, "HOSTNAME");
  if (job.node.empty()) job.node = Value(environment, "NODE_NAME");
  return job;
}

}  // namespace gpuscaler

#include "app/job_environment.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

constexpr int kMaxGpus = 1024;  // upper limit for one node

// Expands SLURM's "0-3" into indices; other entries are kept.
void AppendEntry(absl::string_view entry, std::vector<std::string>& entries) {
  const std::vector<absl::string_view> ends = absl::StrSplit(entry, absl::MaxSplits('-', 1));
  int first = 0;
  int last = 0;
  if (ends.size() == 2 && absl::SimpleAtoi(ends[0], &first) && absl::SimpleAtoi(ends[1], &last) &&
      first >= 0 && last < kMaxGpus) {
    for (int index = first; index <= last; ++index) entries.push_back(absl::StrCat(index));
    return;
  }
  entries.emplace_back(entry);
}

// The list ends at the first entry that is no device (-1, SLURM's NoDevFiles), as in CUDA.
std::vector<std::string> Entries(absl::string_view list) {
  std::vector<std::string> entries;
  for (absl::string_view entry : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry == "-1" || entry == "NoDevFiles" || entry == "none" || entry == "void") break;
    AppendEntry(entry, entries);
  }
  return entries;
}

void SetIfEmpty(const std::string& value, std::string& field) {
  if (field.empty()) field = value;
}

void SetNumber(const std::string& value, std::optional<int>& field) {
  int number = 0;
  if (absl::SimpleAtoi(value, &number)) field = number;
}

struct Row {
  JobVariable variable;
  // Null: its presence only identifies the environment.
  void (*read)(const std::string& value, JobEnvironment& job) = nullptr;
  bool names_gpus = false;
};

constexpr auto kAny = std::nullopt;
constexpr auto kSlurm = EnvironmentKind::kSlurm;
constexpr auto kFlux = EnvironmentKind::kFlux;
constexpr auto kKubernetes = EnvironmentKind::kKubernetes;
constexpr absl::string_view kCudaDevices = "CUDA_VISIBLE_DEVICES";

// Sources of the variables:
// https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
// https://flux-framework.readthedocs.io: flux-environment(7); GPUs are set by the shell's
// gpu-affinity
constexpr std::array kRows = {
    Row{{"KUBERNETES_SERVICE_HOST", kKubernetes, "Where it is set this is a pod"}},
    Row{{"POD_NAME", kAny, "Name of the pod"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.pod); }},
    // Wrong if the pod uses the node's host name.
    Row{{"HOSTNAME", kKubernetes, "Name of the pod, without POD_NAME"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.pod); }},
    Row{{"POD_NAMESPACE", kAny, "Namespace of the pod"},
        [](const std::string& value, JobEnvironment& job) {
          SetIfEmpty(value, job.namespace_name);
        }},
    Row{{"SLURM_JOB_ID", kSlurm, "The job; where it is set this is a SLURM job"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.job); }},
    Row{{"SLURM_JOB_NAME", kSlurm, "Name of the job"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.job_name); }},
    Row{{"SLURM_JOB_PARTITION", kSlurm, "Partition that the job runs in"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.partition); }},
    Row{{"SLURM_PROCID", kSlurm, "Rank within the job"},
        [](const std::string& value, JobEnvironment& job) { SetNumber(value, job.rank); }},
    Row{{"SLURM_LOCALID", kSlurm, "Rank within the node"},
        [](const std::string& value, JobEnvironment& job) { SetNumber(value, job.local_rank); }},
    Row{{"SLURMD_NODENAME", kSlurm, "Name of the node"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.node); }},
    Row{{"SLURM_STEP_GPUS", kSlurm, "GPUs of the job step"}, nullptr, true},
    Row{{"SLURM_JOB_GPUS", kSlurm, "GPUs of the job, where the step names none"}, nullptr, true},
    Row{{"GPU_DEVICE_ORDINAL", kSlurm, "GPUs, without the two above"}, nullptr, true},
    Row{{kCudaDevices, kSlurm, "GPUs, without the three above; empty is none"}, nullptr, true},
    Row{{"FLUX_JOB_ID", kFlux, "The job; where it is set this is a Flux job"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.job); }},
    Row{{"FLUX_JOB_NAME", kFlux, "Name of the job"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.job_name); }},
    Row{{"FLUX_TASK_RANK", kFlux, "Rank within the job"},
        [](const std::string& value, JobEnvironment& job) { SetNumber(value, job.rank); }},
    Row{{"FLUX_TASK_LOCAL_ID", kFlux, "Rank within the node"},
        [](const std::string& value, JobEnvironment& job) { SetNumber(value, job.local_rank); }},
    Row{{kCudaDevices, kFlux, "GPUs of the job; empty is none"}, nullptr, true},
    Row{{"NODE_NAME", kAny, "Name of the node, without --node-name"},
        [](const std::string& value, JobEnvironment& job) { SetIfEmpty(value, job.node); }},
};

// Uses the first variable with a value. An empty CUDA_VISIBLE_DEVICES means no GPU; SLURM's own
// variables are never empty.
void ReadGpus(absl::string_view name, const std::string& value, JobEnvironment& job) {
  if (job.gpus || (value.empty() && name != kCudaDevices)) return;
  job.gpus = Entries(value);
  job.gpus_from = std::string(name);
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
  for (const Row& row : kRows) {
    if (row.variable.kind && *row.variable.kind != kind) continue;
    const auto found = environment.find(row.variable.name);
    if (found == environment.end()) continue;
    if (row.names_gpus) ReadGpus(row.variable.name, found->second, job);
    if (row.read != nullptr) row.read(found->second, job);
  }
  return job;
}

std::vector<JobVariable> JobVariables() {
  std::vector<JobVariable> variables;
  for (const Row& row : kRows) variables.push_back(row.variable);
  return variables;
}

}  // namespace gpuscaler
